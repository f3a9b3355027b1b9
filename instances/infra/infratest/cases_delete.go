package infratest

import (
	"context"
	"errors"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances/infra"
)

var deleteCases = []Case{
	{Name: "Delete/UntilGone", run: deleteUntilGone},
	{Name: "Delete/Repeated", run: deleteRepeated},
	{Name: "Delete/Unknown", run: deleteUnknown},
	{Name: "Delete/AtOnce", run: deleteAtOnce},
	{Name: "Delete/AfterRestart", needs: needsReopen, run: deleteAfterRestart},
	{Name: "Delete/StaleProviderID", run: deleteStale},
}

// deleteUntilGone: gone is what status says, and when it does, nothing is left.
func deleteUntilGone(e *env) {
	req := e.request()
	inst := e.create(req)
	e.remove(req.InstanceID, inst.ProviderInstanceID)
	e.eventually("the machine is gone", func() bool {
		gone := e.gone(req.InstanceID)
		if gone && e.fx.Count != nil {
			if n := e.fx.Count(req.InstanceID); n != 0 {
				e.Fatalf("the provider says that the machine is gone, and there are %d", n)
			}
		}
		if !gone {
			e.remove(req.InstanceID, inst.ProviderInstanceID)
		}
		return gone
	})
	e.eventually("it is gone from the list", func() bool {
		for _, inst := range e.list(0, nil) {
			if inst.InstanceID == req.InstanceID && !inst.Status.Gone() {
				return false
			}
		}
		return true
	})
}

func deleteRepeated(e *env) {
	req := e.request()
	inst := e.create(req)
	for range 3 {
		e.remove(req.InstanceID, inst.ProviderInstanceID)
	}
	e.removed(req.InstanceID)
	e.remove(req.InstanceID, inst.ProviderInstanceID)
	e.remove(req.InstanceID, "")
}

func deleteUnknown(e *env) {
	e.remove(id.New(kind).String(), "")
	err := e.again("delete", func(ctx context.Context) error { return e.p.DeleteInstance(ctx, "*", "") })
	if !errors.Is(err, infra.ErrInvalidRequest) {
		e.Errorf("delete of what is no id: %v, not ErrInvalidRequest", err)
	}
}

// deleteAtOnce deletes right after the create, by the instance's id alone: a look-up
// that lags would take the machine for one that is not there, and leave it.
func deleteAtOnce(e *env) {
	req := e.request()
	e.create(req)
	e.remove(req.InstanceID, "")
	inst, err := e.tryStatus(e.p, req.InstanceID, "")
	if err == nil && !inst.Status.Unhealthy() {
		e.Errorf("a machine deleted right after its create is %s", inst.Status)
	}
	e.removed(req.InstanceID)
}

func deleteAfterRestart(e *env) {
	req := e.request()
	e.create(req)
	e.p = e.fx.Reopen()
	e.removed(req.InstanceID)
}

// deleteStale gives the provider's id of another machine, which must stay.
func deleteStale(e *env) {
	one, two := e.request(), e.request()
	first, second := e.create(one), e.create(two)
	e.remove(id.New(kind).String(), first.ProviderInstanceID)
	e.remove(one.InstanceID, second.ProviderInstanceID)
	for range 3 {
		e.advance()
	}
	inst, err := e.tryStatus(e.p, two.InstanceID, "")
	if err != nil || inst.Status.Unhealthy() {
		e.Fatalf("a delete took the machine of another instance: %v, %v", inst, err)
	}
	e.removed(one.InstanceID)
	e.oneMachine(two.InstanceID)
}
