package sqlite

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/berth-cloud/berth/internal/store"
)

// noteSet is a ChangeNote that is still growing.
type noteSet struct {
	services map[string]struct{}
	attempts map[int64]struct{}
	routes   bool
}

func (n *noteSet) service(name string) {
	if n.services == nil {
		n.services = map[string]struct{}{}
	}
	n.services[name] = struct{}{}
}

func (n *noteSet) attempt(id int64) {
	if id == 0 {
		return
	}
	if n.attempts == nil {
		n.attempts = map[int64]struct{}{}
	}
	n.attempts[id] = struct{}{}
}

func (n *noteSet) merge(o noteSet) {
	for name := range o.services {
		n.service(name)
	}
	for id := range o.attempts {
		n.attempt(id)
	}
	n.routes = n.routes || o.routes
}

func (n *noteSet) empty() bool { return len(n.services) == 0 && len(n.attempts) == 0 && !n.routes }

func (n *noteSet) note() store.ChangeNote {
	return store.ChangeNote{
		Services: slices.Sorted(maps.Keys(n.services)),
		Attempts: slices.Sorted(maps.Keys(n.attempts)),
		Routes:   n.routes,
	}
}

// hub hands what commits touched to the Changes calls. What a slow listener
// has not taken yet is merged, so it is bounded by the number of names.
type hub struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
	ended     chan struct{}
}

type listener struct {
	pending noteSet
	wake    chan struct{}
}

func newHub() *hub {
	return &hub{listeners: map[*listener]struct{}{}, ended: make(chan struct{})}
}

func (h *hub) publish(n noteSet) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		l.pending.merge(n)
		select {
		case l.wake <- struct{}{}:
		default: // it is awake and has not taken the pending note yet
		}
	}
}

func (h *hub) join() *listener {
	l := &listener{wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[l] = struct{}{}
	return l
}

func (h *hub) leave(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, l)
}

// take empties the pending note.
func (h *hub) take(l *listener) noteSet {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := l.pending
	l.pending = noteSet{}
	return n
}

func (h *hub) close() { close(h.ended) }

// Changes implements store.Store. The first call of fn has an empty note: from
// then on nothing is missed, so a caller that lists in it has seen everything.
func (s *Store) Changes(ctx context.Context, fn func(store.ChangeNote)) error {
	l := s.hub.join()
	defer s.hub.leave(l)
	fn(store.ChangeNote{})
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.hub.ended:
			return errClosed
		case <-l.wake:
			if n := s.hub.take(l); !n.empty() {
				fn(n.note())
			}
		}
	}
}
