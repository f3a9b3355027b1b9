package reconcile

import "sync"

// Hub tells watchers which keys something happened to. It holds no more than each
// key once for each watcher, however slow that is. The zero Hub is ready.
type Hub[K comparable] struct {
	mu       sync.Mutex
	watchers map[*HubWatcher[K]]struct{}
}

// HubWatcher is one who watches a Hub, from Join to Leave.
type HubWatcher[K comparable] struct {
	mu      sync.Mutex
	pending map[K]struct{}
	wake    chan struct{}
}

// Join makes a watcher, which is told of everything from now on.
func (h *Hub[K]) Join() *HubWatcher[K] {
	w := &HubWatcher[K]{pending: map[K]struct{}{}, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = map[*HubWatcher[K]]struct{}{}
	}
	h.watchers[w] = struct{}{}
	return w
}

// Leave ends a watcher.
func (h *Hub[K]) Leave(w *HubWatcher[K]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, w)
}

// Watched reports whether anybody watches.
func (h *Hub[K]) Watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers) > 0
}

// Tell never blocks.
func (h *Hub[K]) Tell(key K) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		w.Add(key)
	}
}

// Add tells this watcher alone. It never blocks.
func (w *HubWatcher[K]) Add(key K) {
	w.mu.Lock()
	w.pending[key] = struct{}{}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Wake delivers when there is something to Take.
func (w *HubWatcher[K]) Wake() <-chan struct{} { return w.wake }

// Take is what happened since the last call.
func (w *HubWatcher[K]) Take() []K {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]K, 0, len(w.pending))
	for key := range w.pending {
		out = append(out, key)
	}
	clear(w.pending)
	return out
}
