package infratest

import (
	"context"
	"errors"
	"slices"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances/infra"
)

var statusCases = []Case{
	{Name: "Status/AtOnce", run: statusAtOnce},
	{Name: "Status/AfterRestart", needs: needsReopen, run: statusAfterRestart},
	{Name: "Status/Unknown", run: statusUnknown},
	{Name: "Status/StaleProviderID", run: statusStale},
	{Name: "Status/OwnCopy", run: statusOwnCopy},
	{Name: "Subnet/HasRoom", run: subnetHasRoom},
}

// statusAtOnce looks up by the instance's id alone, right after the create.
func statusAtOnce(e *env) {
	req := e.request()
	made := e.create(req)
	for _, hint := range []string{"", made.ProviderInstanceID} {
		inst, err := e.tryStatus(e.p, req.InstanceID, hint)
		if err != nil {
			e.Fatalf("status with the hint %q: %v", hint, err)
		}
		if inst.ProviderInstanceID != made.ProviderInstanceID || inst.InstanceID != req.InstanceID {
			e.Errorf("status found %s of %s, not %s", inst.ProviderInstanceID, inst.InstanceID, made.ProviderInstanceID)
		}
		if !slices.Contains(infra.Statuses(), inst.Status) {
			e.Errorf("%q is no status", inst.Status)
		}
	}
}

func statusAfterRestart(e *env) {
	req := e.request()
	made := e.create(req)
	inst, err := e.tryStatus(e.fx.Reopen(), req.InstanceID, "")
	if err != nil {
		e.Fatalf("status by a process that started later: %v", err)
	}
	if inst.ProviderInstanceID != made.ProviderInstanceID || !inst.OwnedBy(e.fx.Owner) {
		e.Errorf("a process that started later sees %+v", *inst)
	}
}

func statusUnknown(e *env) {
	inst, err := e.tryStatus(e.p, id.New(kind).String(), "")
	if !infra.IsNotFound(err) {
		e.Errorf("status of an instance that never was: %v, %v, not ErrInstanceNotFound", inst, err)
	}
	if inst, err := e.tryStatus(e.p, "../x", ""); !errors.Is(err, infra.ErrInvalidRequest) {
		e.Errorf("status of what is no id: %v, %v, not ErrInvalidRequest", inst, err)
	}
}

// statusStale gives the provider's id of another machine, as one that was given
// again: the instance's own mark decides.
func statusStale(e *env) {
	one, two := e.request(), e.request()
	first, second := e.create(one), e.create(two)
	inst, err := e.tryStatus(e.p, one.InstanceID, second.ProviderInstanceID)
	switch {
	case err != nil:
		e.Errorf("status with the id of another machine as a hint: %v", err)
	case inst.ProviderInstanceID != first.ProviderInstanceID:
		e.Errorf("status followed a hint to the machine of another instance")
	}
	unknown := id.New(kind).String()
	if inst, err := e.tryStatus(e.p, unknown, first.ProviderInstanceID); !infra.IsNotFound(err) {
		e.Errorf("status of an instance that never was, with a hint: %v, %v, not ErrInstanceNotFound", inst, err)
	}
}

// statusOwnCopy changes what it was given and looks again.
func statusOwnCopy(e *env) {
	req := e.request()
	made := e.create(req)
	made.Tags[infra.TagInstance], made.Tags["suite"] = "spoilt", "spoilt"
	inst, err := e.tryStatus(e.p, req.InstanceID, "")
	if err != nil {
		e.Fatalf("status: %v", err)
	}
	if inst.Tags[infra.TagInstance] != req.InstanceID || inst.Tags["suite"] != "infratest" {
		e.Errorf("who changes an answer changes the machine: %v", inst.Tags)
	}
}

func subnetHasRoom(e *env) {
	req := e.request()
	var room bool
	err := e.again("capacity", func(ctx context.Context) (err error) {
		room, err = e.p.CheckSubnetCapacity(ctx, req.SubnetID)
		return err
	})
	if err != nil || !room {
		e.Errorf("room in subnet %q: %v, %v", req.SubnetID, room, err)
	}
}
