package applogs

import (
	"container/heap"
	"context"
	"sync"

	"github.com/berth-cloud/berth/internal/wire"
)

// streamBuffer is how many lines of each reader wait to be merged.
const streamBuffer = 16

// merge joins readers whose lines are in order into one order. It holds a few
// lines of each reader, however long they are.
type merge struct {
	streams []*stream
	wg      sync.WaitGroup
}

// stream is one reader under way.
type stream struct {
	lines chan wire.LogEntry
	err   error // set before lines is closed
	head  wire.LogEntry
}

func newMerge() *merge { return &merge{} }

// add starts a reader. It ends with ctx at the latest.
func (m *merge) add(ctx context.Context, read reader) {
	st := &stream{lines: make(chan wire.LogEntry, streamBuffer)}
	m.streams = append(m.streams, st)
	m.wg.Go(func() {
		defer close(st.lines)
		st.err = read(ctx, func(e wire.LogEntry) error {
			select {
			case st.lines <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
}

// wait returns once every reader has ended.
func (m *merge) wait() { m.wg.Wait() }

// run delivers all lines in the order of time until every reader has ended,
// one has failed, fn returns an error, or ctx is done.
func (m *merge) run(ctx context.Context, fn func(wire.LogEntry) error) error {
	var h heads
	for _, st := range m.streams {
		more, err := st.advance(ctx)
		if err != nil {
			return err
		}
		if more {
			h = append(h, st)
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
func (st *stream) advance(ctx context.Context) (bool, error) {
	select {
	case e, ok := <-st.lines:
		if !ok {
			return false, st.err
		}
		st.head = e
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// heads is a heap of streams by their heads.
type heads []*stream

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return later(h[i].head, h[j].head) < 0 }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)        { *h = append(*h, x.(*stream)) }
func (h *heads) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// later orders heads of readers by time; of two at once, by container.
func later(a, b wire.LogEntry) int {
	if c := a.Time.Compare(b.Time); c != 0 {
		return c
	}
	switch {
	case a.Container < b.Container:
		return -1
	case a.Container > b.Container:
		return 1
	}
	return 0
}
