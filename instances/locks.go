package instances

import (
	"context"
	"sync"
)

// locks lets one caller at a time have effects on one instance.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	turn    chan struct{} // has one item while it is free
	waiting int
}

// take waits for the turn, or for the end of ctx.
func (l *locks) take(ctx context.Context, instanceID string) (release func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	one := l.held[instanceID]
	if one == nil {
		one = &lock{turn: make(chan struct{}, 1)}
		one.turn <- struct{}{}
		l.held[instanceID] = one
	}
	one.waiting++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.waiting--; one.waiting == 0 {
			delete(l.held, instanceID)
		}
	}
	select {
	case <-one.turn:
		return func() { one.turn <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
