package memory

import (
	"context"
	"sync"

	"github.com/berth-cloud/berth/id"
)

// watcher collects the instances that something happened to. It holds each one
// once, however often it is told.
type watcher struct {
	mu      sync.Mutex
	pending map[id.ID]bool
	order   []id.ID
	some    chan struct{}
}

func (w *watcher) tell(instance id.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending[instance] {
		return
	}
	w.pending[instance] = true
	w.order = append(w.order, instance)
	select {
	case w.some <- struct{}{}:
	default:
	}
}

func (w *watcher) take() []id.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.order
	w.order, w.pending = nil, map[id.ID]bool{}
	return out
}

// Watch implements provider.Watcher.
func (p *Provider) Watch(ctx context.Context, ready func(), fn func(id.ID)) error {
	if _, err := p.wire.ask(ctx, read, "watch"); err != nil {
		return err
	}
	c := p.cluster
	w := &watcher{pending: map[id.ID]bool{}, some: make(chan struct{}, 1)}
	c.mu.Lock()
	c.watchers[w] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, w)
	}()
	ready()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.some:
		}
		for _, instance := range w.take() {
			fn(instance)
		}
	}
}
