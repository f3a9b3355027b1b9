package storetest

import (
	"context"
	"errors"
)

func lifeTests() []test {
	return []test{
		{"InstanceIDIsMadeOnce", lifeInstance},
		{"TwoStoresHaveTwoInstanceIDs", lifeTwo},
		{"CloseMayBeRepeatedAndEndsTheStore", lifeClose},
		{"CanceledCallWritesNothing", lifeCanceled},
	}
}

func lifeInstance(e *env) {
	id := must[string](e)(e.s.InstanceID(e.ctx))
	if len(id) < 8 || len(id) > 63 {
		e.Errorf("id %q has no length that a label can bear", id)
	}
	same(e, "again", must[string](e)(e.s.InstanceID(e.ctx)), id)
	e.reopen()
	same(e, "after a restart", must[string](e)(e.s.InstanceID(e.ctx)), id)
}

func lifeTwo(e *env) {
	other := newEnv(e.T, e.open)
	if a, b := must[string](e)(e.s.InstanceID(e.ctx)), must[string](e)(other.s.InstanceID(e.ctx)); a == b {
		e.Errorf("both are %s", a)
	}
}

func lifeClose(e *env) {
	e.ok(e.s.Close())
	e.ok(e.s.Close())
	if _, err := e.s.ApplyChange(e.ctx, applying("shop", svc("shop", "web"))); err == nil {
		e.Error("a closed store takes a change")
	}
	if _, err := e.s.ListApps(e.ctx); err == nil {
		e.Error("a closed store answers")
	}
}

func lifeCanceled(e *env) {
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	_, err := e.s.ApplyChange(ctx, applying("shop", svc("shop", "web")))
	if !errors.Is(err, context.Canceled) {
		e.Errorf("got %v", err)
	}
	e.nothing("shop")
}
