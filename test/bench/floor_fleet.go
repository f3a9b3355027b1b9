package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

const (
	sidecarPort = 8081
	fleetTime   = 4 * time.Minute // for one side, also beside other work; alone it takes less than one
	// leaving bounds how many workloads are taken away at once.
	leaving = 8
)

// measureFleet provisions many workloads of three services at once, by the
// engine's own calls and through the floor.
func measureFleet(ctx context.Context, o options) ([]line, error) {
	return withFloor(ctx, o, func(f *floor) ([]line, error) { return f.measureFleet(ctx, o.workloads) })
}

func (f *floor) measureFleet(ctx context.Context, n int) ([]line, error) {
	plain, plainUsed, err := f.plainFleet(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("%d workloads of a plain program: %w", n, err)
	}
	floor, floorUsed, err := f.floorFleet(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("%d workloads: %w", n, err)
	}
	return []line{{
		What:  fmt.Sprintf("provider floor, %d workloads of an init, a main service and a sidecar, provisioned at once until all are ready: against the engine's own calls", n),
		Value: float64(floor.took) / float64(plain.took), Format: "%.2f ×", Target: maxFleetRatio,
		Detail: fmt.Sprintf("%s and %s; %d requests to the engine against %d, %d records written; processor time of the program %s and %s",
			floor.took.Round(100*time.Millisecond), plain.took.Round(100*time.Millisecond), floor.requests, plain.requests, floor.writes,
			floorUsed.Round(10*time.Millisecond), plainUsed.Round(10*time.Millisecond)),
	}}, nil
}

// trio is an init, a main service and a sidecar.
func trio() []provider.ServiceSpec {
	main, side := web("0"), web("0")
	side.Name, side.Role = "side", provider.RoleSidecar
	side.Env = map[string]string{"VERSION": "0", "PORT": strconv.Itoa(sidecarPort)}
	side.Ports = []provider.PortSpec{{Container: sidecarPort, Protocol: provider.ProtocolHTTP}}
	side.HealthCheck = &provider.HealthCheckSpec{Path: "/healthz", Port: sidecarPort}
	return []provider.ServiceSpec{
		{Name: "prepare", Role: provider.RoleInit, Image: ref, Env: endAtOnceEnv}, main, side,
	}
}

// floorFleet also takes the workloads away, and makes sure that nothing is left.
func (f *floor) floorFleet(ctx context.Context, n int) (took sample, used time.Duration, err error) {
	workloads := make([]id.ID, n)
	for i := range workloads {
		workloads[i] = id.New(id.KindWorkload)
	}
	before := processorTime()
	took, err = f.timed(func() error {
		return atOnce(ctx, n, n, func(ctx context.Context, i int) error { return f.provision(ctx, workloads[i], trio()) })
	})
	used = processorTime() - before
	if err != nil {
		return took, used, err
	}
	if err := atOnce(ctx, n, leaving, func(ctx context.Context, i int) error { return f.p.Deprovision(ctx, workloads[i]) }); err != nil {
		return took, used, err
	}
	left, err := f.plain.left(ctx, f.owner)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d containers and networks are left after all were deprovisioned", left)
	}
	return took, used, err
}

func (f *floor) plainFleet(ctx context.Context, n int) (took sample, used time.Duration, err error) {
	groups := make([]*group, n)
	defer func() {
		err = errors.Join(err, atOnce(context.WithoutCancel(ctx), n, leaving, func(_ context.Context, i int) error { return groups[i].remove() }))
	}()
	before := processorTime()
	took, err = f.plain.timed(func() error {
		return atOnce(ctx, n, n, func(ctx context.Context, i int) (err error) {
			groups[i], err = f.plain.provisionTrio(ctx)
			return err
		})
	})
	return took, processorTime() - before, err
}

// provisionTrio is the plain loop: a network, then each container in its turn.
func (p *plain) provisionTrio(ctx context.Context) (*group, error) {
	g, err := p.newGroup(ctx)
	if err != nil {
		return g, err
	}
	if err := g.finish(ctx, "prepare", environment(endAtOnceEnv)...); err != nil {
		return g, err
	}
	if _, err := g.serve(ctx, "web", port, "0"); err != nil {
		return g, err
	}
	_, err = g.serve(ctx, "side", sidecarPort, "0")
	return g, err
}

// atOnce calls do for 0 to n-1, so many at once, and gives up at the first
// error.
func atOnce(ctx context.Context, n, width int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithTimeout(ctx, fleetTime)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(width)
	for i := range n {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}
