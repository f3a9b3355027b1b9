package apitest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/wire"
)

// Nodes are nodes on paper: this machine, two machines of a group and a host that
// joined. An app without volumes on a node that is drained moves one at each List.
type Nodes struct {
	mu   sync.Mutex
	all  []wire.Node
	keep bool
	// Broken is the hop that fails on every node but this machine; "" is none.
	broken string
}

var _ api.Nodes = (*Nodes)(nil)

// NewNodes makes them.
func NewNodes() *Nodes {
	up := Epoch.Add(-time.Hour)
	return &Nodes{all: []wire.Node{
		{ID: wire.LocalNode, Kind: wire.NodeLocal, State: wire.NodeOnline, Since: up, Version: "0.1.0-test", Apps: []wire.NodeApp{{App: "mail", Containers: 1}}, Containers: 1},
		{
			ID: "web06bgm7733st2576nx5jht4ecjw", Kind: wire.NodeMachine, Group: "web", State: wire.NodeOnline, Since: up, Address: "10.0.0.2", Version: "0.1.0-test",
			Apps: []wire.NodeApp{
				{App: "bank", Containers: 1, Stays: "the volume ledger of service db is on this node alone"},
				{App: "blog", Containers: 2}, {App: "shop", Containers: 3},
			},
			Containers: 6,
		},
		{ID: "web06bgm7733st2576nx5jht5abcd", Kind: wire.NodeMachine, Group: "web", State: wire.NodeOffline, Since: Epoch, Address: "10.0.0.3", Why: "NodeOfflineController: no heartbeat for 31s"},
		{
			ID: "joi06bgm7733st2576nx5jht6attic", Name: "attic", Kind: wire.NodeJoined, State: wire.NodeLost, Since: Epoch.Add(-24 * time.Hour), Address: "192.168.1.9",
			Cordoned: true, Labels: map[string]string{"disk": "ssd", "zone": "cellar"},
		},
	}}
}

// Keep has drained nodes keep what they have.
func (n *Nodes) Keep(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.keep = on
}

// Break has a hop fail on every node but this machine.
func (n *Nodes) Break(hop string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = hop
}

// List moves what is on its way, and is every node.
func (n *Nodes) List(context.Context) ([]wire.Node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.all {
		one := &n.all[i]
		if moving := one.Moving(); one.Draining() && len(moving) > 0 && !n.keep {
			one.Apps = slices.DeleteFunc(slices.Clone(one.Apps), func(a wire.NodeApp) bool { return a.App == moving[0].App })
			one.Containers -= moving[0].Containers
		}
	}
	return slices.Clone(n.all), nil
}

func (n *Nodes) change(id string, do func(*wire.Node)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.all {
		if n.all[i].ID == id {
			do(&n.all[i])
			return nil
		}
	}
	return fmt.Errorf("%w: %s", api.ErrNoSuchNode, id)
}

// SetCordon writes it down.
func (n *Nodes) SetCordon(_ context.Context, id string, on bool) error {
	return n.change(id, func(one *wire.Node) { one.Cordoned = on })
}

// Drain writes it down.
func (n *Nodes) Drain(_ context.Context, id string, by time.Time) (wire.DrainPlan, error) {
	plan := wire.DrainPlan{Node: id, By: by}
	return plan, n.change(id, func(one *wire.Node) {
		one.DrainingSince, one.DrainBy = Epoch, by
		for _, a := range one.Apps {
			if a.Stays != "" {
				plan.Stays = append(plan.Stays, a)
				continue
			}
			plan.Moves = append(plan.Moves, a)
		}
	})
}

// Undrain writes it down.
func (n *Nodes) Undrain(_ context.Context, id string) error {
	return n.change(id, func(one *wire.Node) { one.DrainingSince, one.DrainBy = time.Time{}, time.Time{} })
}

// Doctor finds that everything works up to the hop that is broken.
func (n *Nodes) Doctor(_ context.Context, id string) ([]wire.NodeCheck, error) {
	if id == wire.LocalNode {
		return []wire.NodeCheck{{Hop: wire.HopRecord, State: wire.CheckOK, Message: "this machine", At: Epoch}}, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []wire.NodeCheck
	state := wire.CheckOK
	for _, hop := range []string{wire.HopRecord, wire.HopRegistration, wire.HopControl, wire.HopEngine, wire.HopIngressControl} {
		c := wire.NodeCheck{Hop: hop, State: state, Message: "works", At: Epoch, Took: "2ms"}
		switch {
		case hop == n.broken:
			state = wire.CheckSkipped
			c.State, c.Message, c.Fix = wire.CheckFailed, "no answer in 5s", "Look at the log of berth-node on the machine."
		case state == wire.CheckSkipped:
			c = wire.NodeCheck{Hop: hop, State: state, Message: "not looked at"}
		}
		out = append(out, c)
	}
	return out, nil
}

// Join gives out a token that no server takes.
func (n *Nodes) Join(_ context.Context, req wire.JoinRequest) (wire.JoinToken, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := "joi06bgm7733st2576nx5jht7" + req.Name
	n.all = append(n.all, wire.Node{ID: id, Name: req.Name, Kind: wire.NodeJoined, State: wire.NodeOffline, Since: Epoch, Why: "it has not joined yet", Labels: req.Labels})
	return wire.JoinToken{ID: id, Name: req.Name, Token: "bj1.eyJ4IjoiY2FuYXJ5In0", ExpiresAt: Epoch.Add(24 * time.Hour)}, nil //nolint:gosec // a token on paper
}

// Remove forgets one.
func (n *Nodes) Remove(_ context.Context, id string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = slices.DeleteFunc(n.all, func(one wire.Node) bool { return one.ID == id })
	return nil
}
