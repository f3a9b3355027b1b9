package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/fleet"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/reconcile/ingress"
	"github.com/berth-cloud/berth/internal/reconcile/nodes"
	"github.com/berth-cloud/berth/internal/reconcile/placement"
	"github.com/berth-cloud/berth/internal/store"
)

// nodeRoles are what the groups of machines ask of the nodes. They are made before the
// nodes are, which begin to be asked once both run.
type nodeRoles struct{ d *daemon }

// Holds implements group.Holder.
func (r nodeRoles) Holds(ctx context.Context, id string) (string, error) {
	return r.d.nodes.Holds(ctx, id)
}

// Drain implements group.Drainer.
func (r nodeRoles) Drain(ctx context.Context, id string, deadline time.Time) error {
	_, err := r.d.nodes.Drain(ctx, id, deadline)
	if errors.Is(err, nodes.ErrUnknownNode) {
		return nil // it never registered, or is not read yet: nothing runs on it
	}
	return err
}

// Drained implements group.Drainer.
func (r nodeRoles) Drained(ctx context.Context, id string) (bool, error) {
	return r.d.nodes.Drained(ctx, id)
}

// denied has what knows of machines look again: one has come to be one that goes.
func (d *daemon) denied() {
	if d.members != nil {
		d.members.poke()
	}
	if d.cluster != nil {
		d.engine.Enqueue(ingress.ClusterKey)
	}
}

// wireNodes makes the fleet of this machine and those that joined, and what decides which
// of them apps run on.
func (d *daemon) wireNodes() {
	o := fleet.Options{Local: d.runtime, Instance: d.instance, Logger: d.logger, Missed: func(string) { d.missedEvents() }}
	if d.machines != nil {
		d.members = newMembers(d.machines.shard, d.logger)
		d.members.mentioned = d.mentionedNodes
		d.members.changed = d.nodesChanged
		o.Members = d.members
	}
	d.fleet = fleet.New(o)
	d.nodes = nodes.New(nodes.Options{
		Store: d.store, Fleet: fleetView{d.fleet, d.members}, Logger: d.logger,
		Move: func(ctx context.Context, app string) error { return d.server.Restart(ctx, app) },
		Wake: d.wakeServices,
		Back: func(string) { d.memory.TouchAll() },
	})
}

// closeNodes ends what they do in this process.
func (d *daemon) closeNodes() {
	d.fleet.Close()
	if d.members != nil {
		d.members.close()
	}
}

// mentionedNodes are those that something is kept of.
func (d *daemon) mentionedNodes(ctx context.Context) ([]string, error) {
	rows, err := d.store.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	placements, err := d.store.ListPlacements(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range rows {
		ids = append(ids, rows[i].ID)
	}
	for i := range placements {
		ids = append(append(ids, placements[i].Nodes...), placements[i].Lost...)
	}
	return ids, nil
}

// nodesChanged looks at nodes that came or went, and at what they run.
func (d *daemon) nodesChanged(ids ...string) {
	d.fleet.Changed()
	for _, id := range ids {
		d.engine.Enqueue(nodes.Key(id))
	}
	d.memory.TouchAll()
	d.engine.Resync()
}

// fleetView is a fleet as nodes.Nodes takes it.
type fleetView struct {
	*fleet.Fleet
	members *members
}

// Members implements nodes.Fleet.
func (f fleetView) Members() []fleet.Member {
	if f.members == nil {
		return nil
	}
	return f.members.Members()
}

// located is the controller of a desired service, where it runs.
func (d *daemon) located(ctx context.Context, desired *store.DesiredService) (reconcile.Controller, error) {
	at, err := d.nodes.Locate(ctx, desired)
	switch {
	case errors.Is(err, placement.ErrNoNode):
		return application.NewNoNodeController(desired.Name, desired.AttemptID, d.store, nodes.NoNode(err)), nil
	case errors.Is(err, placement.ErrAwaited):
		return application.NewNodeAwaitedController(desired.Name, err.Error()), nil
	case err != nil:
		return nil, err
	case at.Away != "":
		return application.NewNodeOfflineController(desired.Name, at.Away, at.Since), nil
	}
	options := append(d.options[:len(d.options):len(d.options)],
		application.WithNodeRecovering(at.Recovering), application.WithImagesMoved(at.Remote))
	return application.New(desired.Name, d.store, d.fleet.For(at.Placement), options...), nil
}

// finalizing removes what is left of a deleted service, where its app was placed last. What
// is on a node that cannot be asked goes once the node is back.
func (d *daemon) finalizing(ctx context.Context, t *store.PendingTeardown) (reconcile.Controller, error) {
	p, err := d.store.PlacementOf(ctx, t.AppID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	p.AppID = t.AppID
	resolve := func(string) (docker.Runtime, error) { return d.fleet.For(p), nil }
	return application.NewDeleteFinalizer(d.store, resolve, d.logger, d.options...).For(t.Name, t.NodeID), nil
}
