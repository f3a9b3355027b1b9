package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/instances/shard"
	"github.com/berth-cloud/berth/internal/wire"
)

// hops looks at one hop to a node after the other, and at none behind one that failed.
type hops struct {
	checks []wire.NodeCheck
	failed bool
}

func (h *hops) look(hop string, check func() wire.NodeCheck) {
	c := wire.NodeCheck{State: wire.CheckSkipped, Message: "not looked at, as a hop before it failed"}
	if !h.failed {
		began := time.Now()
		c = check()
		c.Took = time.Since(began).Round(time.Microsecond).String()
		if c.At.IsZero() {
			c.At = began
		}
	}
	c.Hop = hop
	h.failed = h.failed || c.State == wire.CheckFailed
	h.checks = append(h.checks, c)
}

func broken(fix, format string, args ...any) wire.NodeCheck {
	return wire.NodeCheck{State: wire.CheckFailed, Message: fmt.Sprintf(format, args...), Fix: fix}
}

func sound(at time.Time, format string, args ...any) wire.NodeCheck {
	return wire.NodeCheck{State: wire.CheckOK, Message: fmt.Sprintf(format, args...), At: at}
}

// Doctor implements api.Nodes.
func (n nodesAPI) Doctor(ctx context.Context, id string) ([]wire.NodeCheck, error) {
	if inside(id) == "" {
		here := sound(time.Now(), "this machine; `berth doctor` looks at its engine and its data plane")
		here.Hop = wire.HopRecord
		return []wire.NodeCheck{here}, nil
	}
	machine, err := n.d.machines.shard.Machine(ctx, id)
	if err != nil {
		return nil, nodeError(err)
	}
	h := &hops{}
	h.look(wire.HopRecord, func() wire.NodeCheck { return checkRecord(&machine.Machine) })
	h.look(wire.HopRegistration, func() wire.NodeCheck { return checkRegistration(&machine.Machine) })
	h.look(wire.HopControl, func() wire.NodeCheck {
		if machine.Node == nil {
			return broken("see that `berth-node agent` runs there and reaches agent_addr of the file of machines; its log says why it does not",
				"its agent is not connected to this server; last heard of at %s", stamp(machine.HeardAt))
		}
		return sound(machine.Node.Heartbeat, "its agent, version %s, is connected from %s", machine.Node.Version, machine.Node.Remote)
	})
	h.look(wire.HopEngine, func() wire.NodeCheck { return n.checkEngine(ctx, id) })
	n.checkPlane(id, h)
	return h.checks, nil
}

func checkRecord(m *shard.Machine) wire.NodeCheck {
	if m.Status == shard.StatusDeleting || m.Status == shard.StatusDeleted {
		return broken("nothing is to be done: it is being removed", "its record says that it goes")
	}
	return sound(m.CreatedAt, "its record says that it is wanted")
}

func checkRegistration(m *shard.Machine) wire.NodeCheck {
	switch {
	case m.RegisteredAt.IsZero():
		return broken("wait for it to start; `berth machine show` has its history", "it has not registered")
	case !m.CertExpiresAt.IsZero() && time.Now().After(m.CertExpiresAt):
		return broken("the agent renews by itself while it can reach registration_addr; see its log", "its certificate ended at %s", stamp(m.CertExpiresAt))
	}
	return sound(m.CertExpiresAt, "it registered at %s, and its certificate holds until %s", stamp(m.RegisteredAt), stamp(m.CertExpiresAt))
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "no time that is known"
	}
	return t.UTC().Format(time.RFC3339)
}

// engineTimeout bounds the question to a node's engine.
const engineTimeout = 8 * time.Second

func (n nodesAPI) checkEngine(ctx context.Context, id string) wire.NodeCheck {
	const fix = "see that Docker runs there, and that the agent may open its socket"
	rt, err := n.d.members.Engine(id)
	if err != nil {
		return broken(fix, "%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	info, err := rt.Info(ctx)
	if err != nil {
		return broken(fix, "its engine does not answer through the agent: %v", err)
	}
	return sound(time.Time{}, "its engine answers: Docker %s", info.Version)
}

// checkPlane looks at the data plane's own way to the node.
func (n nodesAPI) checkPlane(id string, h *hops) {
	if n.d.cluster == nil {
		h.look(wire.HopIngressControl, func() wire.NodeCheck {
			return broken("write shard.server.ingress_addr into the file of machines, and start berthd again", "the data plane takes no agents, so that no request reaches the node")
		})
		return
	}
	h.look(wire.HopIngressControl, func() wire.NodeCheck {
		if !n.d.link.Reaches(id) {
			return broken("see that the agent reaches ingress_addr of the file of machines; a machine that was made before that was written there does not know it",
				"its agent is not connected to the data plane")
		}
		return sound(time.Time{}, "its agent is connected to the data plane")
	})
}
