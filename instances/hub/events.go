package hub

import (
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

// EventKind is what happened.
type EventKind string

// The kinds.
const (
	EventConnected EventKind = "connected"
	EventHeartbeat EventKind = "heartbeat"
	EventNotice    EventKind = "notice"
	EventLost      EventKind = "lost"
	EventCloned    EventKind = "cloned" // Node is the one that stays, Reason tells of the other
	// EventMissed: events did not fit. Whoever reads it looks at Nodes anew.
	EventMissed EventKind = "missed"
)

// Event is one thing that happened to a machine's control connection.
type Event struct {
	Kind   EventKind
	At     time.Time
	Node   Node
	Reason string
}

// Node is a machine as its control connection shows it.
type Node struct {
	InstanceID string
	Tenant     string
	Serial     string // of its certificate
	Remote     string // where it connected from
	Version    string
	BootID     string
	Facts      wire.Facts
	Connected  time.Time
	Heartbeat  time.Time // the last one, or Connected
	Metrics    wire.Metrics
	Notice     *wire.Notice // the last one
}

// Subscription is a queue of events with a bound. A heartbeat that does not fit is left
// out; of anything else that does not, one EventMissed tells.
type Subscription struct {
	hub *Hub
	ch  chan Event
}

// Subscribe begins one that holds size events, at least 1. What happens after it returns
// is in the queue or told of by EventMissed: subscribe first, then look at Nodes. Close
// it when done.
func (h *Hub) Subscribe(size int) *Subscription {
	s := &Subscription{hub: h, ch: make(chan Event, max(size, 1)+1)}
	h.subs.mu.Lock()
	defer h.subs.mu.Unlock()
	h.subs.all[s] = struct{}{}
	return s
}

// Events is the queue. It is never closed.
func (s *Subscription) Events() <-chan Event { return s.ch }

// Close ends it.
func (s *Subscription) Close() {
	s.hub.subs.mu.Lock()
	defer s.hub.subs.mu.Unlock()
	delete(s.hub.subs.all, s)
}

type subscriptions struct {
	mu  sync.Mutex
	all map[*Subscription]struct{}
}

// publish never waits. One place of each queue is kept for the word that events are
// missing: while that stands there, what is missing is seen by whoever reads it.
func (s *subscriptions) publish(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.all {
		room := cap(sub.ch) - len(sub.ch)
		switch {
		case room > 1:
			sub.ch <- e
		case room == 1 && e.Kind != EventHeartbeat:
			sub.ch <- Event{Kind: EventMissed, At: e.At}
		}
	}
}
