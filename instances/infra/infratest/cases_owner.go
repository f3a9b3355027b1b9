package infratest

import (
	"context"
	"errors"

	"github.com/berth-cloud/berth/instances/infra"
)

var ownerCases = []Case{
	{Name: "Owner/Tags", run: ownerTags},
	{Name: "Owner/OtherShard", needs: needsOther, run: ownerOtherShard},
	{Name: "Owner/CreateForAnother", run: ownerCreateForAnother},
	{Name: "Owner/Foreign", needs: needsPlace, run: ownerForeign},
	{Name: "Owner/ForeignOfOurID", needs: needsPlace, run: ownerForeignOfOurID},
}

func ownerTags(e *env) {
	req := e.request()
	inst := e.create(req)
	want := req.Tags()
	for key, value := range want {
		if inst.Tags[key] != value {
			e.Errorf("tag %q is %q, not %q", key, inst.Tags[key], value)
		}
	}
	if !inst.OwnedBy(e.fx.Owner) {
		e.Errorf("the machine is not marked as its owner's: %v", inst.Tags)
	}
}

func ownerOtherShard(e *env) {
	req := e.request()
	made := e.create(req)
	o := infra.Owner{ClusterID: e.fx.Owner.ClusterID, Shard: "another"}
	other := e.fx.Other(o)
	if inst, err := e.tryStatus(other, req.InstanceID, made.ProviderInstanceID); !infra.IsNotFound(err) {
		e.Errorf("another shard sees the machine: %v, %v", inst, err)
	}
	err := e.again("delete", func(ctx context.Context) error {
		return other.DeleteInstance(ctx, req.InstanceID, made.ProviderInstanceID)
	})
	if err != nil {
		e.Errorf("another shard's delete of what it has not: %v", err)
	}
	for range 3 {
		e.advance()
	}
	if inst, err := e.tryStatus(e.p, req.InstanceID, ""); err != nil || inst.Status.Unhealthy() {
		e.Errorf("another shard deleted the machine: %v, %v", inst, err)
	}
	err = e.again("list", func(ctx context.Context) error {
		page, err := other.ListInstances(ctx, infra.ListInstancesRequest{ClusterID: o.ClusterID, Shard: o.Shard})
		if err == nil && len(page.Instances) > 0 {
			e.Errorf("another shard lists %d machines", len(page.Instances))
		}
		return err
	})
	if err != nil {
		e.Errorf("another shard's list: %v", err)
	}
}

func ownerCreateForAnother(e *env) {
	for _, spoil := range []func(*infra.CreateInstanceRequest){
		func(r *infra.CreateInstanceRequest) { r.Shard = "another" },
		func(r *infra.CreateInstanceRequest) { r.ClusterID = "another" },
	} {
		req := e.request()
		spoil(&req)
		if inst, err := e.tryCreate(e.p, req); !errors.Is(err, infra.ErrInvalidRequest) {
			e.Errorf("a create for another owner: %v, %v, not ErrInvalidRequest", inst, err)
		}
	}
}

// ownerForeign: a machine without our mark is nobody's to see or to remove, not
// even under its provider's id.
func ownerForeign(e *env) {
	providerID, there := e.fx.Place(map[string]string{"owner": "somebody"})
	req := e.request()
	e.create(req)
	e.remove(req.InstanceID, providerID)
	e.untouched(providerID, there)
}

// ownerForeignOfOurID: another cluster's machine with the id of our instance.
func ownerForeignOfOurID(e *env) {
	req := e.request()
	providerID, there := e.fx.Place(map[string]string{
		infra.TagCluster: "another", infra.TagShard: e.fx.Owner.Shard, infra.TagInstance: req.InstanceID,
	})
	if inst, err := e.tryStatus(e.p, req.InstanceID, providerID); !infra.IsNotFound(err) {
		e.Errorf("another cluster's machine is found: %v, %v", inst, err)
	}
	e.remove(req.InstanceID, providerID)
	e.untouched(providerID, there)
}

func (e *env) untouched(providerID string, there func() bool) {
	e.Helper()
	for range 3 {
		e.advance()
	}
	if !there() {
		e.Errorf("a machine of somebody else was removed")
	}
	for _, inst := range e.list(0, nil) {
		if inst.ProviderInstanceID == providerID {
			e.Errorf("a machine of somebody else is listed: %+v", inst)
		}
	}
}
