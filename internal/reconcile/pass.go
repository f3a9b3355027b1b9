package reconcile

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// pass is one run of a key.
type pass struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the key is let go
	stale  bool          // the key was forgotten meanwhile: the result is dropped
}

// passKey is the context key under which a pass finds its own Key.
type passKey struct{}

// work runs ready keys until there are none.
func (e *Engine) work() {
	defer e.workers.Done()
	clean := false
	defer func() {
		if !clean { // runtime.Goexit in a controller takes the worker with it
			e.mu.Lock()
			e.active--
			e.dispatch()
			e.mu.Unlock()
		}
	}()
	for {
		ent := e.claim()
		if ent == nil {
			clean = true
			return
		}
		name, limit := e.groupOf(ent.key)
		if ctx, ok := e.admit(ent, name, limit); ok {
			e.run(ctx, ent)
		}
	}
}

// claim takes the next ready key; without one the worker is no longer counted.
func (e *Engine) claim() *entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase == phaseRunning {
		if ent := e.q.claim(); ent != nil {
			return ent
		}
	}
	e.active--
	return nil
}

func (e *Engine) groupOf(key Key) (name string, limit int) {
	if e.cfg.Group == nil || e.cfg.GroupLimit == nil {
		return "", 0
	}
	err := guard(func() error {
		name = e.cfg.Group(key)
		limit = e.cfg.GroupLimit(name)
		return nil
	})
	if err != nil {
		e.log.Error("the group of a key could not be found", "key", key, "err", err)
	}
	return name, limit
}

func (e *Engine) admit(ent *entry, group string, limit int) (context.Context, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock()
	runs := e.q.admit(now, ent, group, limit)
	e.dispatch() // it may have handed slots of its group to others
	if !runs {
		return nil, false
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(e.base, passKey{}, ent.key))
	ent.pass = &pass{cancel: cancel, done: make(chan struct{})}
	ent.last.lag = now - ent.since
	return ctx, true
}

// run does one pass and lets the key go, also when the controller panics or
// ends its goroutine.
func (e *Engine) run(ctx context.Context, ent *entry) {
	defer e.finish(ent)
	began := e.clock()
	f := finding{err: fmt.Errorf("%w: the controller ended its goroutine", ErrPanic)}
	defer func() { e.conclude(ctx, ent, began, f) }()
	f = e.reconcile(ctx, ent.key)
}

// finding is what a controller returned.
type finding struct {
	controller string
	gone       bool
	result     Result
	err        error
}

func (e *Engine) reconcile(ctx context.Context, key Key) (f finding) {
	bounded, cancel := context.WithTimeoutCause(ctx, e.cfg.PassTimeout, ErrPassTimeout)
	defer cancel()
	f.err = guard(func() error {
		controller, err := e.factory(bounded, key)
		if err != nil {
			return fmt.Errorf("build the controller: %w", err)
		}
		if controller == nil {
			f.gone = true
			return nil
		}
		f.controller = controller.Name()
		f.result, err = controller.Reconcile(bounded)
		return err
	})
	if f.err != nil && errors.Is(context.Cause(bounded), ErrPassTimeout) {
		f.err = fmt.Errorf("%w (%s): %w", ErrPassTimeout, e.cfg.PassTimeout, f.err)
	}
	return f
}

// guard turns a panic into an error that has its stack.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{value: v, stack: debug.Stack()}
		}
	}()
	return f()
}

type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("%v: %v", ErrPanic, p.value) }
func (p *panicError) Unwrap() error { return ErrPanic }

// conclude records what a pass found, while its key still counts as running.
func (e *Engine) conclude(ctx context.Context, ent *entry, began time.Duration, f finding) {
	if f.err != nil && ctx.Err() != nil {
		e.interrupted(ctx, ent, began, f)
		return
	}
	if stack := (*panicError)(nil); errors.As(f.err, &stack) {
		e.log.Error("a pass panicked", "key", ent.key, "panic", stack.value, "stack", string(stack.stack))
		f.err = fmt.Errorf("%w: %v", ErrPanic, stack.value) // the stack is not worth its memory
	}
	kept := e.keepConditions(ent, &f)

	e.mu.Lock()
	now := e.clock()
	kept.err, kept.ended, kept.took, kept.lag = f.err, now, now-began, ent.last.lag
	v := verdict{failed: f.err != nil, gone: f.gone, wait: f.result.RequeueAfter}
	failures := 0
	if v.failed {
		failures = int(ent.failures) + 1
		v.wait = e.cfg.Backoff.Delay(failures)
	} else if kept.unsaved && (v.wait <= 0 || v.wait > e.cfg.Backoff.Ceiling) {
		v.wait = e.cfg.Backoff.Ceiling // a key at rest would leave the store wrong
	}
	if !ent.pass.stale {
		ent.last = kept
		e.q.settle(now, ent, v)
	}
	out := e.outcome(ent)
	e.mu.Unlock()

	out.Failures, out.Gone, out.Err = failures, f.gone, f.err
	if f.err != nil {
		e.log.Log(context.Background(), levelOf(f.err), "a pass failed", "key", ent.key, "failures", failures, "retry_in", v.wait, "err", f.err)
	}
	e.report(out)
}

// interrupted records a pass that failed because the engine cancelled it.
func (e *Engine) interrupted(ctx context.Context, ent *entry, began time.Duration, f finding) {
	e.mu.Lock()
	now := e.clock()
	e.q.settle(now, ent, verdict{interrupted: true})
	out := e.outcome(ent)
	e.mu.Unlock()
	out.Err, out.Interrupted = fmt.Errorf("%w: %w", context.Cause(ctx), f.err), true
	out.Took, out.Ended = now-began, e.wall(now)
	e.log.Debug("a pass was interrupted", "key", ent.key, "err", out.Err)
	e.report(out)
}

func (e *Engine) report(out Outcome) {
	if e.cfg.OnResult == nil {
		return
	}
	err := guard(func() error { e.cfg.OnResult(out); return nil })
	if err != nil {
		e.log.Error("the result hook failed", "key", out.Key, "err", err)
	}
}

// finish lets the key of a pass go.
func (e *Engine) finish(ent *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := ent.pass
	ent.pass = nil
	e.q.finish(e.clock(), ent)
	p.cancel(nil)
	close(p.done)
	e.dispatch()
	e.rearm()
}
