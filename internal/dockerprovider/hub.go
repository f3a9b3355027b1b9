package dockerprovider

import (
	"sync"

	"github.com/berth-cloud/berth/id"
)

// hub tells watchers which workloads something happened to. It holds no more
// than each workload once for each watcher, however slow that is.
type hub struct {
	mu       sync.Mutex
	watchers map[*watcher]struct{}
}

type watcher struct {
	mu      sync.Mutex
	pending map[id.ID]struct{}
	wake    chan struct{}
}

func (h *hub) join() *watcher {
	w := &watcher{pending: map[id.ID]struct{}{}, wake: make(chan struct{}, 1)}
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

// watched reports whether anybody watches.
func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers) > 0
}

// tell never blocks.
func (h *hub) tell(workload id.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		w.add(workload)
	}
}

func (w *watcher) add(workload id.ID) {
	w.mu.Lock()
	w.pending[workload] = struct{}{}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// take is what happened since the last call.
func (w *watcher) take() []id.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]id.ID, 0, len(w.pending))
	for v := range w.pending {
		out = append(out, v)
	}
	clear(w.pending)
	return out
}
