package logread

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
type merge[O any] struct {
	streams []*source[O]
	wg      sync.WaitGroup
}

// source is one reader under way.
type source[O any] struct {
	lines chan Line[O]
	err   error // set before lines is closed
	head  Line[O]
}

// add starts a reader. It ends with ctx at the latest.
func (m *merge[O]) add(ctx context.Context, read reader[O]) {
	s := &source[O]{lines: make(chan Line[O], streamBuffer)}
	m.streams = append(m.streams, s)
	m.wg.Go(func() {
		defer close(s.lines)
		s.err = read(ctx, func(l Line[O]) error {
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
func (m *merge[O]) wait() { m.wg.Wait() }

// run delivers all lines in the order of time until every reader has ended, one
// has failed, fn returns an error, or ctx is done.
func (m *merge[O]) run(ctx context.Context, fn func(Line[O]) error) error {
	var h heads[O]
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
func (s *source[O]) advance(ctx context.Context) (bool, error) {
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
type heads[O any] []*source[O]

func (h heads[O]) Len() int { return len(h) }
func (h heads[O]) Less(i, j int) bool {
	a, b := &h[i].head, &h[j].head
	return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Container, b.Container)) < 0
}
func (h heads[O]) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads[O]) Push(x any)   { *h = append(*h, x.(*source[O])) }
func (h *heads[O]) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
