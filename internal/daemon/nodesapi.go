package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/shard"
	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/fleet"
	"github.com/berth-cloud/berth/internal/reconcile/nodes"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

// nodesAPI is what the API asks about nodes. To the API this machine is wire.LocalNode.
type nodesAPI struct{ d *daemon }

var _ api.Nodes = nodesAPI{}

// api is nil where there is this machine only.
func (d *daemon) nodesAPI() api.Nodes {
	if d.machines == nil {
		return nil
	}
	return nodesAPI{d}
}

// inside is a node's id in here, by that in the API.
func inside(id string) string {
	if id == wire.LocalNode {
		return ""
	}
	return id
}

func nodeError(err error) error {
	switch {
	case errors.Is(err, nodes.ErrUnknownNode):
		return fmt.Errorf("%w: %w", api.ErrNoSuchNode, err)
	case errors.Is(err, shard.ErrNotLeading), docker.IsUnavailable(err):
		return fmt.Errorf("%w: %w", api.ErrNodesUnavailable, err)
	}
	return err
}

// List implements api.Nodes. It asks no node: what runs where is what the routes and the
// placements say.
func (n nodesAPI) List(ctx context.Context) ([]wire.Node, error) {
	machines, err := n.d.machines.shard.Machines(ctx, false)
	if err != nil {
		return nil, nodeError(err)
	}
	byID := map[string]*shard.Machine{}
	for i := range machines {
		byID[machines[i].ID] = &machines[i]
	}
	known, err := n.known(ctx)
	if err != nil {
		return nil, err
	}
	members := n.d.members.Members()
	slices.SortFunc(members, func(a, b fleet.Member) int { return cmp.Compare(a.ID, b.ID) })
	here := wire.Node{ID: wire.LocalNode, Kind: wire.NodeLocal, State: wire.NodeOnline, Version: n.d.cfg.Version}
	known.fill(&here, "")
	out := []wire.Node{here}
	for _, m := range members {
		one := wire.Node{ID: m.ID, Name: m.Name, Kind: wire.NodeMachine, Since: m.Since, Labels: m.Labels}
		one.State, one.Why = known.state(&m)
		if machine := byID[m.ID]; machine != nil {
			one.Group, one.Address = machine.Group, cmp.Or(machine.IPv4, machine.IPv6)
			if machine.Group == instances.JoinedGroup {
				one.Kind, one.Group = wire.NodeJoined, ""
			}
			if machine.Node != nil {
				one.Version = machine.Node.Version
			}
		}
		known.fill(&one, m.ID)
		if m.Gone && len(one.Apps) == 0 {
			continue // nothing is left to be said of it
		}
		out = append(out, one)
	}
	return n.awaited(ctx, machines, out)
}

// awaited adds the hosts that were given a token and have not joined yet.
func (n nodesAPI) awaited(ctx context.Context, machines []shard.Machine, out []wire.Node) ([]wire.Node, error) {
	for i := range machines {
		one := &machines[i]
		if one.Group != instances.JoinedGroup || slices.ContainsFunc(out, func(n wire.Node) bool { return n.ID == one.ID }) {
			continue
		}
		r, err := n.d.members.host(ctx, one)
		if err != nil {
			return nil, nodeError(err)
		}
		if r != nil {
			why := "its host has not joined yet"
			if !one.RegisteredAt.IsZero() {
				why = "its host has joined, and its agent is not connected yet"
			}
			out = append(out, wire.Node{
				ID: one.ID, Name: r.Joined.Name, Kind: wire.NodeJoined, State: wire.NodeOffline, Since: one.CreatedAt, Why: why, Labels: labelsOf(r),
			})
		}
	}
	return out, nil
}

func (f *nodeFacts) state(m *fleet.Member) (wire.NodeState, string) {
	row := f.rows[m.ID]
	switch {
	case m.Gone:
		return wire.NodeGone, "its machine is deleted, or is being deleted"
	case !m.Online && len(f.lost[m.ID]) > 0:
		return wire.NodeLost, "started elsewhere: " + strings.Join(f.lost[m.ID], ", ")
	case !m.Online && !row.OfflineSince.IsZero():
		return wire.NodeOffline, "not heard of since " + row.OfflineSince.UTC().Format(time.RFC3339)
	case !m.Online:
		return wire.NodeOffline, "its agent is not connected"
	case !row.OfflineSince.IsZero() || time.Since(m.Since) < nodes.Recovery:
		return wire.NodeRecovering, "connected since a moment"
	}
	return wire.NodeOnline, ""
}

// nodeFacts are what is kept of nodes and of what runs on them.
type nodeFacts struct {
	rows       map[string]store.Node
	containers map[string]map[string]int // by node and app
	stays      map[string]map[string]string
	lost       map[string][]string // apps that gave a node up
}

func (n nodesAPI) known(ctx context.Context) (*nodeFacts, error) {
	f := &nodeFacts{rows: map[string]store.Node{}, containers: map[string]map[string]int{}, stays: map[string]map[string]string{}, lost: map[string][]string{}}
	rows, err := n.d.store.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		f.rows[row.ID] = row
	}
	placements, err := n.d.store.ListPlacements(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range placements {
		for _, id := range p.Nodes {
			f.count(id, p.AppID, 0)
		}
		for _, id := range p.Lost {
			f.lost[id] = append(f.lost[id], p.AppID)
		}
	}
	routes, err := n.d.store.Routes(ctx)
	if err != nil {
		return nil, err
	}
	for i := range routes.Active {
		for _, t := range routes.Active[i].Targets {
			f.count(t.Node, routes.Active[i].AppID, 1)
		}
	}
	for id := range f.containers {
		plan, err := n.d.nodes.On(ctx, id)
		if err != nil {
			return nil, err
		}
		f.stays[id] = map[string]string{}
		for _, s := range plan.Stays {
			f.stays[id][s.App] = s.Why
		}
	}
	return f, nil
}

func (f *nodeFacts) count(id, app string, more int) {
	if f.containers[id] == nil {
		f.containers[id] = map[string]int{}
	}
	f.containers[id][app] += more
}

func (f *nodeFacts) fill(n *wire.Node, id string) {
	row := f.rows[id]
	n.Cordoned, n.DrainingSince, n.DrainBy = row.Cordoned, row.DrainingSince, row.DrainBy
	for app, count := range f.containers[id] {
		n.Apps = append(n.Apps, wire.NodeApp{App: app, Containers: count, Stays: f.stays[id][app]})
		n.Containers += count
	}
	slices.SortFunc(n.Apps, func(a, b wire.NodeApp) int { return cmp.Compare(a.App, b.App) })
}

// SetCordon implements api.Nodes.
func (n nodesAPI) SetCordon(ctx context.Context, id string, on bool) error {
	return nodeError(n.d.nodes.SetCordon(ctx, inside(id), on))
}

// Drain implements api.Nodes.
func (n nodesAPI) Drain(ctx context.Context, id string, by time.Time) (wire.DrainPlan, error) {
	plan, err := n.d.nodes.Drain(ctx, inside(id), by)
	if err != nil {
		return wire.DrainPlan{}, nodeError(err)
	}
	n.d.engine.Enqueue(nodes.Key(inside(id)))
	out := wire.DrainPlan{Node: id, By: by}
	for _, app := range plan.Moves {
		out.Moves = append(out.Moves, wire.NodeApp{App: app})
	}
	for _, s := range plan.Stays {
		out.Stays = append(out.Stays, wire.NodeApp{App: s.App, Stays: s.Why})
	}
	return out, nil
}

// Undrain implements api.Nodes.
func (n nodesAPI) Undrain(ctx context.Context, id string) error {
	return nodeError(n.d.nodes.Undrain(ctx, inside(id)))
}

// Join implements api.Nodes.
func (n nodesAPI) Join(ctx context.Context, req wire.JoinRequest) (wire.JoinToken, error) {
	made, err := n.d.machines.shard.Manager.JoinHost(ctx, instances.JoinRequest{Tenant: api.Tenant, Name: req.Name, Labels: req.Labels})
	switch {
	case errors.Is(err, instances.ErrExists):
		return wire.JoinToken{}, fmt.Errorf("%w: %w", api.ErrNodeTaken, err)
	case errors.Is(err, instances.ErrInvalidRequest):
		return wire.JoinToken{}, fmt.Errorf("%w: %w", api.ErrNodeRefused, err)
	case err != nil:
		return wire.JoinToken{}, fmt.Errorf("%w: %w", api.ErrNodesUnavailable, err)
	}
	return wire.JoinToken{ID: made.InstanceID, Name: made.Name, Token: made.Token, ExpiresAt: made.ExpiresAt}, nil
}

// Remove implements api.Nodes.
func (n nodesAPI) Remove(ctx context.Context, id string) error {
	err := n.d.machines.shard.Manager.DeleteInstanceFor(ctx, api.Tenant, id)
	if errors.Is(err, instances.ErrInstanceNotFound) {
		return fmt.Errorf("%w: %w", api.ErrNoSuchNode, err)
	}
	return err
}
