package callback

import (
	"errors"
	"fmt"
	"sync"

	"github.com/berth-cloud/berth/backend"
)

// Bounds of a Stream.
const (
	// StreamBuffer is how many events wait for a subscriber.
	StreamBuffer = 16
	// MaxLeaseSubscriptions are those of one lease.
	MaxLeaseSubscriptions = 10
	// MaxSubscriptions are those of all leases.
	MaxSubscriptions = 1000
)

var (
	// ErrTooManySubscriptions: a lease, or the stream, has as many as it may.
	ErrTooManySubscriptions = errors.New("too many subscriptions")
	// ErrStreamClosed: the stream has ended.
	ErrStreamClosed = errors.New("the stream is closed")
)

// Stream hands each event to everybody who watches its lease. It keeps nothing: an
// event that comes before a subscription is not in it.
type Stream struct {
	mu      sync.Mutex
	closed  bool
	total   int
	byLease map[string]map[*Subscription]struct{}
}

// NewStream makes a Stream without subscribers.
func NewStream() *Stream {
	return &Stream{byLease: map[string]map[*Subscription]struct{}{}}
}

// Subscription is one who watches a lease.
type Subscription struct {
	stream  *Stream
	lease   string
	events  chan backend.LeaseStatusEvent
	dropped uint64 // under the stream's lock
}

// Subscribe watches one lease until Close. The error is ErrTooManySubscriptions or
// ErrStreamClosed.
func (s *Stream) Subscribe(leaseUUID string) (*Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, ErrStreamClosed
	case s.total >= MaxSubscriptions:
		return nil, fmt.Errorf("%w: %d in all", ErrTooManySubscriptions, s.total)
	case len(s.byLease[leaseUUID]) >= MaxLeaseSubscriptions:
		return nil, fmt.Errorf("%w: %d of lease %s", ErrTooManySubscriptions, MaxLeaseSubscriptions, leaseUUID)
	}
	sub := &Subscription{stream: s, lease: leaseUUID, events: make(chan backend.LeaseStatusEvent, StreamBuffer)}
	if s.byLease[leaseUUID] == nil {
		s.byLease[leaseUUID] = map[*Subscription]struct{}{}
	}
	s.byLease[leaseUUID][sub] = struct{}{}
	s.total++
	return sub, nil
}

// Publish hands an event to everybody who watches its lease, and waits for nobody.
// On a closed stream it does nothing.
func (s *Stream) Publish(event backend.LeaseStatusEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.byLease[event.LeaseUUID] {
		sub.put(event)
	}
}

// put makes room by dropping the oldest: a watcher wants to know how things are,
// not how they were. The lock is held, so that nobody else fills the room.
func (sub *Subscription) put(event backend.LeaseStatusEvent) {
	if len(sub.events) == cap(sub.events) {
		select {
		case <-sub.events:
			sub.dropped++
		default: // the subscriber was quicker
		}
	}
	sub.events <- event
}

// Events is closed after Close of the subscription or of the stream; what waits in
// it can still be read.
func (sub *Subscription) Events() <-chan backend.LeaseStatusEvent { return sub.events }

// Dropped is how many events the subscriber was too slow for.
func (sub *Subscription) Dropped() uint64 {
	sub.stream.mu.Lock()
	defer sub.stream.mu.Unlock()
	return sub.dropped
}

// Close ends the subscription. It may be called more than once.
func (sub *Subscription) Close() {
	s := sub.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.byLease[sub.lease]
	if _, there := all[sub]; !there {
		return
	}
	delete(all, sub)
	if len(all) == 0 {
		delete(s.byLease, sub.lease)
	}
	s.total--
	close(sub.events)
}

// Close ends every subscription and takes no more. It may be called more than
// once.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.byLease {
		for sub := range all {
			close(sub.events)
		}
	}
	s.byLease, s.total, s.closed = nil, 0, true
}
