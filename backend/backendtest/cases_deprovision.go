package backendtest

import (
	"errors"

	"github.com/berth-cloud/berth/backend"
)

var deprovisionCases = []Case{
	{Name: "Deprovision/LeavesNothing", run: func(e *env) {
		id, other := e.ready(), e.ready()
		e.deprovision(id)
		e.gone(id)
		e.status(other, backend.ProvisionStatusReady)
	}},
	{Name: "Deprovision/Repeated", run: func(e *env) {
		id := e.ready()
		e.deprovision(id)
		e.ok(e.Backend.Deprovision(e.ctx, id), "Deprovision once more")
		e.settle()
		e.ok(e.Backend.Deprovision(e.ctx, id), "Deprovision later")
		e.gone(id)
	}},
	{Name: "Deprovision/PreemptsProvision", run: func(e *env) {
		id := e.lease()
		e.provision(e.request(id))
		e.preempts(id)
	}},
	{Name: "Deprovision/PreemptsRestart", Needs: []Feature{Restart}, run: func(e *env) {
		id := e.ready()
		e.ok(e.restart(id), "Restart")
		e.preempts(id)
	}},
	{Name: "Deprovision/PreemptsUpdate", Needs: []Feature{Update}, run: func(e *env) {
		id := e.ready()
		e.ok(e.update(id, e.Other), "Update")
		e.preempts(id)
	}},
	{Name: "Deprovision/AfterFailure", run: func(e *env) {
		id := e.ready()
		e.broken(id)
		e.preempts(id)
	}},
	{Name: "Deprovision/TellsOnce", Needs: []Feature{DeprovisionedCallback}, run: func(e *env) {
		id := e.ready()
		e.deprovision(id)
		told := func() (n int) {
			for _, p := range e.Callbacks.Of(id) {
				if p.Status == backend.CallbackStatusDeprovisioned {
					n++
				}
			}
			return n
		}
		e.until(func() bool { return told() > 0 })
		e.settle()
		if told() != 1 {
			e.Errorf("the callbacks of a lease that is gone are %+v", e.Callbacks.Of(id))
		}
	}},
	{Name: "Deprovision/ThenAnew", run: func(e *env) {
		id := e.ready()
		e.deprovision(id)
		e.gone(id)
		e.provision(e.request(id))
		e.ends(id, success, success)
		e.status(id, backend.ProvisionStatusReady)
	}},
}

// deprovision gives a lease up and waits until it is gone.
func (e *env) deprovision(id string) {
	e.Helper()
	e.ok(e.Backend.Deprovision(e.ctx, id), "Deprovision")
	if !e.until(func() bool { _, there := e.list()[id]; return !there }) {
		e.Fatalf("lease %s was given up and is %s", id, e.get(id).Status)
	}
}

// preempts gives up a lease on which something may be under way, of which nothing
// is heard then.
func (e *env) preempts(id string) {
	e.Helper()
	e.ok(e.Backend.Deprovision(e.ctx, id), "Deprovision")
	before := len(e.ended(id))
	e.until(func() bool { _, there := e.list()[id]; return !there })
	e.settle()
	if after := e.ended(id); len(after) != before {
		e.Errorf("after Deprovision lease %s had the callbacks %v", id, after[before:])
	}
	e.gone(id)
}

// gone fails when a lease that was given up is there, but for what is retained of
// it or how it failed.
func (e *env) gone(id string) {
	e.Helper()
	e.isNowhere(id)
	p, err := e.Backend.GetProvision(e.ctx, id)
	switch {
	case errors.Is(err, backend.ErrNotProvisioned):
	case err != nil || p == nil:
		e.Errorf("GetProvision of a lease that is gone: %v, %v", p, err)
	case p.Status != backend.ProvisionStatusRetained && p.Status != backend.ProvisionStatusFailed:
		e.Errorf("by GetProvision a lease that is gone is %s", p.Status)
	}
}
