package api

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/wire"
)

// thisMachine is a Berth without machines: its one node is where it runs.
type thisMachine struct{ deps Deps }

var _ Nodes = thisMachine{}

// List is this machine, with every app that there is.
func (t thisMachine) List(ctx context.Context) ([]wire.Node, error) {
	here := wire.Node{ID: wire.LocalNode, Kind: wire.NodeLocal, State: wire.NodeOnline, Version: t.deps.Version}
	apps, err := t.deps.Store.ListApps(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the apps: %w", err)
	}
	routes, err := t.deps.Store.Routes(ctx)
	if err != nil {
		return nil, fmt.Errorf("read what serves: %w", err)
	}
	serving := map[string]int{}
	for _, a := range routes.Active {
		serving[a.AppID] += len(a.Targets)
		here.Containers += len(a.Targets)
	}
	for _, a := range apps {
		here.Apps = append(here.Apps, wire.NodeApp{App: a.Name, Containers: serving[a.Name], Stays: "there is no other node"})
	}
	return []wire.Node{here}, nil
}

func alone() error { return fmt.Errorf("%w: it is the only one of this Berth", ErrNodeRefused) }

// SetCordon refuses: there would be nowhere left.
func (thisMachine) SetCordon(context.Context, string, bool) error { return alone() }

// Drain refuses, as there is nowhere to go.
func (thisMachine) Drain(context.Context, string, time.Time) (wire.DrainPlan, error) {
	return wire.DrainPlan{}, alone()
}

// Undrain refuses, as nothing is drained.
func (thisMachine) Undrain(context.Context, string) error { return alone() }

// Doctor has no hop to look at.
func (t thisMachine) Doctor(context.Context, string) ([]wire.NodeCheck, error) {
	return []wire.NodeCheck{{
		Hop: wire.HopRecord, State: wire.CheckOK, At: t.deps.Now(), Message: "this machine; `berth doctor` looks at its engine and its data plane",
	}}, nil
}

// Join refuses: a host registers with what machines register with.
func (thisMachine) Join(context.Context, wire.JoinRequest) (wire.JoinToken, error) {
	return wire.JoinToken{}, fmt.Errorf("%w: this daemon was started without machines", ErrNodeRefused)
}

// Remove refuses.
func (thisMachine) Remove(context.Context, string) error { return alone() }
