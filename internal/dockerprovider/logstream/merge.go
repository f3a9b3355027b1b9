package logstream

import (
	"cmp"
	"container/heap"
	"context"
	"strings"
	"sync"
)

// streamBuffer is how many lines of each reader wait to be merged.
const streamBuffer = 16

// merge joins readers whose lines are in order into one order. It holds a few
// lines of each reader, however long they are.
type merge struct {
	streams []*source
	wg      sync.WaitGroup
}

// source is one reader under way.
type source struct {
	lines chan line
	err   error // set before lines is closed
	head  line
}

// add starts a reader. It ends with ctx at the latest.
func (m *merge) add(ctx context.Context, read reader) {
	s := &source{lines: make(chan line, streamBuffer)}
	m.streams = append(m.streams, s)
	m.wg.Go(func() {
		defer close(s.lines)
		s.err = read(ctx, func(l line) error {
			select {
			case s.lines <- l:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
}

// wait returns once every reader has ended.
func (m *merge) wait() { m.wg.Wait() }

// run delivers all lines in the order of time until every reader has ended, one
// has failed, fn returns an error, or ctx is done.
func (m *merge) run(ctx context.Context, fn func(line) error) error {
	var h heads
	for _, s := range m.streams {
		more, err := s.advance(ctx)
		if err != nil {
			return err
		}
		if more {
			h = append(h, s)
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		if err := fn(h[0].head); err != nil {
			return err
		}
		more, err := h[0].advance(ctx)
		switch {
		case err != nil:
			return err
		case more:
			heap.Fix(&h, 0)
		default:
			heap.Pop(&h)
		}
	}
	return ctx.Err()
}

// advance makes the next line the head and says whether there was one.
func (s *source) advance(ctx context.Context) (bool, error) {
	select {
	case l, ok := <-s.lines:
		if !ok {
			return false, s.err
		}
		s.head = l
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// heads is a heap of sources by the times of their heads; of two at once, by
// container.
type heads []*source

func (h heads) Len() int { return len(h) }
func (h heads) Less(i, j int) bool {
	a, b := &h[i].head, &h[j].head
	return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.container, b.container)) < 0
}
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)   { *h = append(*h, x.(*source)) }
func (h *heads) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
