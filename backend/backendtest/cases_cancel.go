package backendtest

import (
	"context"
	"errors"
	"time"

	"github.com/berth-cloud/berth/backend"
)

// cancelBound is how long a call may go on whose context has ended.
const cancelBound = 5 * time.Second

// call is one method, asked about a lease.
type call struct {
	name string
	ask  func(e *env, ctx context.Context, id string) error
}

var calls = []call{
	{"GetInfo", func(e *env, ctx context.Context, id string) error {
		_, err := e.Backend.GetInfo(ctx, id)
		return err
	}},
	{"GetProvision", func(e *env, ctx context.Context, id string) error {
		_, err := e.Backend.GetProvision(ctx, id)
		return err
	}},
	{"ListProvisions", func(e *env, ctx context.Context, id string) error {
		all, err := e.Backend.ListProvisions(ctx)
		return e.lists(all, err, id)
	}},
	{"LookupProvisions", func(e *env, ctx context.Context, id string) error {
		all, err := e.Backend.LookupProvisions(ctx, []string{id})
		return e.lists(all, err, id)
	}},
	{"GetLogs", func(e *env, ctx context.Context, id string) error {
		_, err := e.Backend.GetLogs(ctx, id, backend.DefaultLogTail)
		return err
	}},
	{"GetReleases", func(e *env, ctx context.Context, id string) error {
		_, err := e.Backend.GetReleases(ctx, id)
		return err
	}},
	{"ReconcileCustomDomain", func(e *env, ctx context.Context, id string) error {
		return e.Backend.ReconcileCustomDomain(ctx, id, e.request(id).Items)
	}},
	{"Health", func(e *env, ctx context.Context, _ string) error { return e.Backend.Health(ctx) }},
	{"RefreshState", func(e *env, ctx context.Context, _ string) error { return e.Backend.RefreshState(ctx) }},
	{"GetLoadStats", func(e *env, ctx context.Context, _ string) error {
		_, err := e.Backend.GetLoadStats(ctx)
		return err
	}},
	{"ListRetentions", func(e *env, ctx context.Context, _ string) error {
		_, err := e.Backend.ListRetentions(ctx)
		return err
	}},
}

// lists fails when a list without an error lacks a lease.
func (e *env) lists(all []backend.ProvisionInfo, err error, id string) error {
	e.Helper()
	if err == nil {
		for _, p := range all {
			if p.LeaseUUID == id {
				return nil
			}
		}
		e.Errorf("a list whose context had ended lacks a lease and is no error")
	}
	return err
}

func cancelCases() []Case {
	cases := []Case{
		{Name: "Cancel/Provision", run: cancelProvision},
		{Name: "Cancel/Deprovision", run: cancelDeprovision},
		{Name: "Cancel/Restart", Needs: []Feature{Restart}, run: func(e *env) { cancelChange(e, e.restartWith) }},
		{Name: "Cancel/Update", Needs: []Feature{Update}, run: func(e *env) { cancelChange(e, e.updateWith) }},
		{Name: "Cancel/Restore", Needs: []Feature{Retention, Restore}, run: cancelRestore},
	}
	for _, c := range calls {
		cases = append(cases, Case{Name: "Cancel/" + c.name, run: func(e *env) {
			id := e.ready()
			_ = e.canceled("a call", func(ctx context.Context) error { return c.ask(e, ctx, id) })
			e.ends(id, success)
			e.serves(id)
		}})
	}
	return cases
}

// canceled makes a call whose context has ended. It must return soon, with nothing
// or with the error of the context: any other would be taken for an answer.
func (e *env) canceled(what string, ask func(ctx context.Context) error) error {
	e.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	done := make(chan error, 1)
	go func() { done <- ask(ctx) }()
	late := time.NewTimer(cancelBound)
	defer late.Stop()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, context.Canceled) {
			e.Errorf("%s whose context had ended has the error %v", what, err)
		}
		return err
	case <-late.C:
		e.Fatalf("%s whose context had ended went on for %s", what, cancelBound)
		return nil
	}
}

// cancelProvision asks again after an answer that was lost.
func cancelProvision(e *env) {
	id := e.lease()
	_ = e.canceled("Provision", func(ctx context.Context) error { return e.Backend.Provision(ctx, e.request(id)) })
	if err := e.Backend.Provision(e.ctx, e.request(id)); err != nil {
		e.is(err, "Provision again", backend.ErrAlreadyProvisioned)
	}
	e.ends(id, success)
	e.serves(id)
}

func cancelDeprovision(e *env) {
	id := e.ready()
	_ = e.canceled("Deprovision", func(ctx context.Context) error { return e.Backend.Deprovision(ctx, id) })
	e.deprovision(id)
	e.gone(id)
}

func (e *env) restartWith(ctx context.Context, id string) error {
	return e.Backend.Restart(ctx, backend.RestartRequest{LeaseUUID: id, CallbackURL: e.CallbackURL})
}

func (e *env) updateWith(ctx context.Context, id string) error {
	return e.Backend.Update(ctx, backend.UpdateRequest{LeaseUUID: id, CallbackURL: e.CallbackURL, Payload: e.Other})
}

// cancelChange begins a change of a lease, or not; either way the lease serves and
// takes another.
func cancelChange(e *env, change func(ctx context.Context, id string) error) {
	id := e.ready()
	_ = e.canceled("a change", func(ctx context.Context) error { return change(ctx, id) })
	if !e.until(func() bool { return e.get(id).Status == backend.ProvisionStatusReady }) {
		e.Errorf("lease %s is %s", id, e.get(id).Status)
	}
	e.settle()
	before := e.ended(id)
	e.ok(change(e.ctx, id), "the change again")
	e.ends(id, append(before, success)...)
	e.serves(id)
}

// cancelRestore restores once, now or then.
func cancelRestore(e *env) {
	old := e.retained(e.ready())
	id := e.lease()
	req := e.restoreRequest(id, old)
	_ = e.canceled("Restore", func(ctx context.Context) error { return e.Backend.Restore(ctx, req) })
	if err := e.Backend.Restore(e.ctx, req); err != nil {
		e.is(err, "Restore again", backend.ErrAlreadyProvisioned, backend.ErrInvalidState, backend.ErrNotRetained)
	}
	e.ends(id, success)
	e.serves(id)
}
