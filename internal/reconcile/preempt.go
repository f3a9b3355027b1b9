package reconcile

import (
	"context"
	"fmt"
	"sync"
)

// Preempt takes a key for the caller: it cancels the key's running pass, waits
// until that pass has returned, and keeps the key from running until release is
// called. A key is held by one caller at a time; a second one waits for the
// first.
//
// What wakes the key meanwhile is remembered. A pass that failed because it was
// cancelled counts as no failure and is done again after release. release may be
// called more than once. If ctx ends first, nothing is held and its cause is
// returned; the running pass stays cancelled.
func (e *Engine) Preempt(ctx context.Context, key Key) (release func(), err error) {
	if own, ok := ctx.Value(passKey{}).(Key); ok && own == key {
		return nil, fmt.Errorf("preempt %s: %w", key, ErrOwnPass)
	}
	ent, running, err := e.park(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("preempt %s: %w", key, err)
	}
	release = sync.OnceFunc(func() { e.unpark(ent) })
	if running != nil {
		select {
		case <-running.done:
		case <-ctx.Done():
			release()
			return nil, fmt.Errorf("preempt %s: wait for the running pass: %w", key, context.Cause(ctx))
		}
	}
	return release, nil
}

// park holds the key as soon as nobody else does, and cancels its pass.
func (e *Engine) park(ctx context.Context, key Key) (*entry, *pass, error) {
	for {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		e.mu.Lock()
		other := e.held(key)
		if other == nil {
			ent := e.q.parkKey(key)
			running := ent.pass
			if running != nil {
				running.cancel(errPreempted)
			}
			e.mu.Unlock()
			return ent, running, nil
		}
		e.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
		}
	}
}

// held is the channel that closes when the key is released, nil when it is free.
func (e *Engine) held(key Key) chan struct{} {
	if ent := e.q.entries[key]; ent != nil {
		return ent.park
	}
	return nil
}

func (e *Engine) unpark(ent *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.q.unpark(e.clock(), ent)
	e.dispatch()
	e.rearm()
}
