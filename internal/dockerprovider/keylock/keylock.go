package keylock

import (
	"context"
	"fmt"
	"sync"
)

// Locks is a lock for each key. The zero value is ready.
type Locks struct {
	mu   sync.Mutex
	held map[string]*entry
}

type entry struct {
	token chan struct{} // holds one while the lock is free
	users int           // that hold the lock or wait for it
}

// Lock waits for the key and returns what releases it, or ctx's error.
func (l *Locks) Lock(ctx context.Context, key string) (release func(), err error) {
	e := l.enter(key)
	if err := ctx.Err(); err != nil {
		l.leave(key, e)
		return nil, fmt.Errorf("wait for %s: %w", key, err)
	}
	select {
	case <-e.token:
		return sync.OnceFunc(func() {
			e.token <- struct{}{}
			l.leave(key, e)
		}), nil
	case <-ctx.Done():
		l.leave(key, e)
		return nil, fmt.Errorf("wait for %s: %w", key, ctx.Err())
	}
}

func (l *Locks) enter(key string) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.held[key]
	if e == nil {
		e = &entry{token: make(chan struct{}, 1)}
		e.token <- struct{}{}
		if l.held == nil {
			l.held = map[string]*entry{}
		}
		l.held[key] = e
	}
	e.users++
	return e
}

func (l *Locks) leave(key string, e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.users--; e.users == 0 {
		delete(l.held, key)
	}
}
