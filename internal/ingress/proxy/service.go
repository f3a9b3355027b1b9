package proxy

import (
	"sync"
	"sync/atomic"
)

// service is what outlives a swap of a route: its counters and its waiters.
type service struct {
	name   string
	held   atomic.Int64
	failed atomic.Int64 // answered 5xx by us

	// redialer is a token: whoever of the held requests has it dials again on
	// the cadence, the others wait for its success.
	redialer chan struct{}

	mu sync.Mutex
	up chan struct{} // closed when a dial succeeded while requests were held
}

func newService(name string) *service {
	s := &service{name: name, redialer: make(chan struct{}, 1), up: make(chan struct{})}
	s.redialer <- struct{}{}
	return s
}

func (s *service) upSignal() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up
}

// wake lets all held requests try again.
func (s *service) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.up)
	s.up = make(chan struct{})
}
