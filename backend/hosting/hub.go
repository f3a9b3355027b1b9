package hosting

import (
	"context"
	"sync"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// hub tells whoever watches which leases have something to do. It holds each lease
// once, however slow the watcher is.
type hub struct {
	mu       sync.Mutex
	watchers map[*watcher]struct{}
}

type watcher struct {
	mu      sync.Mutex
	pending map[string]struct{}
	wake    chan struct{}
}

func (h *hub) join() *watcher {
	w := &watcher{pending: map[string]struct{}{}, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = map[*watcher]struct{}{}
	}
	h.watchers[w] = struct{}{}
	return w
}

func (h *hub) leave(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, w)
}

// tell never blocks.
func (h *hub) tell(lease string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		w.add(lease)
	}
}

func (w *watcher) add(lease string) {
	w.mu.Lock()
	w.pending[lease] = struct{}{}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watcher) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]string, 0, len(w.pending))
	for lease := range w.pending {
		out = append(out, lease)
	}
	clear(w.pending)
	return out
}

// Watch calls fn, from one goroutine, for each lease that was asked to change or to
// whose workloads something happened, until ctx or the provider's own stream ends.
// ready is called once everything from then on is told.
func (h *Hosting) Watch(ctx context.Context, ready func(), fn func(lease string)) error {
	w := h.hub.join()
	defer h.hub.leave(w)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended, subscribed := make(chan error, 1), make(chan struct{})
	watches, ok := h.cfg.Provider.(provider.Watcher)
	if ok {
		go func() {
			ended <- watches.Watch(ctx, func() { close(subscribed) }, func(instance id.ID) {
				if lease := h.rows.ownerOf(instance); lease != "" {
					w.add(lease)
				}
			})
		}()
	} else {
		close(subscribed)
	}
	for {
		select {
		case <-subscribed:
			subscribed = nil
			ready()
		case <-w.wake:
			for _, lease := range w.take() {
				fn(lease)
			}
		case err := <-ended:
			return err
		case <-ctx.Done():
			if ok {
				return <-ended // once nobody calls fn any more
			}
			return ctx.Err()
		}
	}
}
