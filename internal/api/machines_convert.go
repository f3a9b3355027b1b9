package api

import (
	"context"
	"errors"

	"github.com/berth-cloud/berth/instances"
	machineconfig "github.com/berth-cloud/berth/instances/config"
	nodehub "github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/shard"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/wire"
)

// machineProblem turns what machines answer into what a caller can act on; nil is that it
// is none of theirs.
func (s *Server) machineProblem(ctx context.Context, err error) *wire.Problem {
	is := func(those ...error) bool {
		for _, one := range those {
			if errors.Is(err, one) {
				return true
			}
		}
		return false
	}
	switch {
	case is(shard.ErrNotLeading, instances.ErrNotLeader):
		return busy(err.Error(), "Ask again in a few seconds, or ask the server that leads; `berth doctor` names it.")
	case is(instances.ErrInstanceNotFound):
		return notFound(err.Error(), "`berth machine list --all` lists those there are and those that were deleted lately.")
	case is(machineconfig.ErrGroupNotFound):
		return notFound(err.Error(), "`berth machine groups` lists the groups there are.")
	case is(shard.ErrSeveral):
		return invalidRequest(err.Error(), "Write more of the one that you mean.")
	case is(shard.ErrAmbiguous):
		return invalidRequest(err.Error(), "Name the tenant.")
	case is(instances.ErrInvalidRequest, instances.ErrMissing, machineconfig.ErrInvalid):
		return invalidRequest(err.Error(), "Nothing was asked for.")
	case is(shard.ErrTooManyAsks):
		return busy(err.Error(), "Wait until some of it is done; `berth machine list` shows it.")
	case is(machineconfig.ErrNotLoaded):
		return busy("the file of machines cannot be read, so it is not known what is meant", "`berth doctor` says what is wrong with it.")
	case is(storage.ErrUnavailable):
		s.log.WarnContext(ctx, "the store of machines does not answer", "error", err)
		return busy("the store of the machines' records does not answer", "Machines go on meanwhile. Ask again; the log of berthd says more.")
	}
	return nil
}

func each[T, O any](all []T, one func(*T) O) []O {
	out := make([]O, len(all))
	for i := range all {
		out[i] = one(&all[i])
	}
	return out
}

func machine(m *shard.Machine) wire.Machine {
	return wire.Machine{
		ID: m.ID, Tenant: m.Tenant, Group: m.Group, Template: m.Template, InstanceType: m.Type, OnDemand: m.OnDemand,
		Status: m.Status, Reason: m.Reason, Online: m.Online, PrivateIPv4: m.IPv4, PrivateIPv6: m.IPv6, Hostname: m.Hostname,
		ProviderID: m.ProviderID, CreatedAt: m.CreatedAt, RegisteredAt: m.RegisteredAt, HeardAt: m.HeardAt, CertExpiresAt: m.CertExpiresAt,
	}
}

func machineDetail(d *shard.Detail) wire.MachineDetail {
	return wire.MachineDetail{
		Machine: machine(&d.Machine), Current: d.Current, DeleteReason: d.DeleteReason, Tags: d.Tags, Vars: d.Vars,
		Node: machineNode(d.Node),
		Events: each(d.Events, func(e *shard.Event) wire.MachineEvent {
			return wire.MachineEvent{At: e.At, Kind: e.Kind, Text: e.Text, Times: e.Times}
		}),
	}
}

func machineNode(n *nodehub.Node) *wire.MachineNode {
	if n == nil {
		return nil
	}
	return &wire.MachineNode{
		Remote: n.Remote, ConnectedAt: n.Connected, Version: n.Version, BootID: n.BootID,
		OS: n.Facts.OS, Arch: n.Facts.Arch, Kernel: n.Facts.Kernel, CPUs: n.Facts.CPUs, MemoryBytes: n.Facts.MemoryBytes,
		MemoryAvailableBytes: n.Metrics.MemoryAvailableBytes, Load1: n.Metrics.Load1, UptimeSeconds: n.Metrics.UptimeSeconds,
	}
}

func machineGroup(g *shard.Group) wire.MachineGroup {
	return wire.MachineGroup{
		Tenant: g.Tenant, Group: g.Name, Template: g.Template, Size: g.Size, Absent: g.Absent, OnDemand: g.OnDemand,
		Machines: g.Machines, Error: g.Error, Failures: g.Failures,
		Conditions: each(g.Conditions, func(c *reconcile.Condition) wire.MachineCondition {
			return wire.MachineCondition{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime}
		}),
	}
}
