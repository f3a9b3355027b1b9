package api

import (
	"slices"
	"sync"

	"github.com/berth-cloud/berth/internal/store"
)

// hub tells open streams that there may be something new about their attempt.
// A wake carries no data: a stream reads what is new from the store, so that a
// slow one costs nothing but its own delay.
type hub struct {
	mu   sync.Mutex
	subs map[*subscription]struct{}
}

type subscription struct {
	attempt int64
	wake    chan struct{} // holds at most one wake
}

func newHub() *hub { return &hub{subs: map[*subscription]struct{}{}} }

// subscribe returns a subscription and the function that ends it.
func (h *hub) subscribe(attempt int64) (*subscription, func()) {
	sub := &subscription{attempt: attempt, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs[sub] = struct{}{}
	return sub, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subs, sub)
	}
}

// note wakes those whom a commit concerns, and everybody for the empty note
// with which the feed begins. It never blocks.
func (h *hub) note(n store.ChangeNote) {
	all := len(n.Attempts) == 0 && len(n.Services) == 0 && !n.Routes
	h.mu.Lock()
	defer h.mu.Unlock()
	for sub := range h.subs {
		if all || slices.Contains(n.Attempts, sub.attempt) {
			select {
			case sub.wake <- struct{}{}:
			default: // a wake is pending already
			}
		}
	}
}
