package backendtest

import (
	"reflect"

	"github.com/berth-cloud/berth/backend"
)

var restartCases = []Case{
	{Name: "Restart/ReadyWithOneCallback", Needs: []Feature{Restart}, run: func(e *env) {
		id := e.ready()
		e.ok(e.restart(id), "Restart")
		e.status(id, backend.ProvisionStatusRestarting, backend.ProvisionStatusReady)
		e.ends(id, success, success)
		e.serves(id)
	}},
	{Name: "Restart/KeepsTheManifest", Needs: []Feature{Restart, Releases}, run: func(e *env) {
		id := e.ready()
		e.ok(e.restart(id), "Restart")
		e.ends(id, success, success)
		e.active(id, e.Manifest)
	}},
	{Name: "Restart/OneEndForEach", Needs: []Feature{Restart}, run: func(e *env) {
		e.oneEndForEach(e.restart)
	}},
	{Name: "Restart/WhileProvisioning", Needs: []Feature{Restart}, run: func(e *env) {
		id := e.lease()
		e.provision(e.request(id))
		want := []backend.CallbackStatus{success}
		// A quick backend may be ready already.
		if err := e.restart(id); err == nil {
			want = append(want, success)
		} else {
			e.is(err, "Restart of a lease on its way", backend.ErrInvalidState)
		}
		e.ends(id, want...)
		e.serves(id)
	}},
	{Name: "Restart/FailCountStays", Needs: []Feature{Restart}, run: func(e *env) {
		id := e.ready()
		before := e.get(id)
		e.ok(e.restart(id), "Restart")
		e.ends(id, success, success)
		after := e.get(id)
		if after.FailCount != 0 || !after.CreatedAt.Equal(before.CreatedAt) || !reflect.DeepEqual(after.Items, before.Items) {
			e.Errorf("after Restart the lease is %+v, before %+v", *after, *before)
		}
	}},
}

var updateCases = []Case{
	{Name: "Update/ReadyWithOneCallback", Needs: []Feature{Update}, run: func(e *env) {
		id := e.ready()
		e.ok(e.update(id, e.Other), "Update")
		e.status(id, backend.ProvisionStatusUpdating, backend.ProvisionStatusReady)
		e.ends(id, success, success)
		e.serves(id)
	}},
	{Name: "Update/BrokenLeavesTheOldOne", Needs: []Feature{Update}, run: func(e *env) {
		if e.Broken == nil {
			e.Skipf("the fixture has no broken manifest")
		}
		id := e.ready()
		e.ok(e.update(id, e.Broken), "Update")
		e.ends(id, success, failed)
		e.tellsWhy(id)
		e.serves(id)
		if n := e.get(id).FailCount; n != 0 {
			e.Errorf("a lease that serves as before has failed %d times", n)
		}
	}},
	{Name: "Update/Invalid", Needs: []Feature{Update, Validation}, run: func(e *env) {
		id := e.ready()
		e.is(e.update(id, e.Invalid), "Update", backend.ErrInvalidManifest)
		e.ends(id, success)
		e.serves(id)
	}},
	{Name: "Update/OneEndForEach", Needs: []Feature{Update}, run: func(e *env) {
		e.oneEndForEach(func(id string) error { return e.update(id, e.Other) })
	}},
	{Name: "Update/WhileProvisioning", Needs: []Feature{Update}, run: func(e *env) {
		id := e.lease()
		e.provision(e.request(id))
		want := []backend.CallbackStatus{success}
		if err := e.update(id, e.Other); err == nil {
			want = append(want, success)
		} else {
			e.is(err, "Update of a lease on its way", backend.ErrInvalidState)
		}
		e.ends(id, want...)
		e.serves(id)
	}},
}

// serves fails when a lease is not ready, or nobody can reach it.
func (e *env) serves(id string) {
	e.Helper()
	e.status(id, backend.ProvisionStatusReady)
	if info, err := e.Backend.GetInfo(e.ctx, id); err != nil || info == nil {
		e.Errorf("GetInfo of lease %s: %v, %v", id, info, err)
	}
}

// oneEndForEach asks for the same twice in a row: each that is accepted has one
// end, and one that is not has none.
func (e *env) oneEndForEach(ask func(id string) error) {
	e.Helper()
	e.oneEndForEachOf(e.ready(), ask)
}

func (e *env) oneEndForEachOf(id string, ask func(id string) error) {
	e.Helper()
	want := []backend.CallbackStatus{success}
	for range 2 {
		if err := ask(id); err == nil {
			want = append(want, success)
		} else {
			e.is(err, "the second while the first is under way", backend.ErrInvalidState)
		}
	}
	if len(want) == 1 {
		e.Errorf("neither is accepted by a lease that is ready")
	}
	e.ends(id, want...)
	e.serves(id)
}
