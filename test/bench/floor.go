package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/provider"
	floordriver "github.com/berth-cloud/berth/provider/docker"
)

// How much longer the floor may take than the engine's own calls; notes.md says
// why.
const (
	maxLookRatio  = 1.5 // of what the engine answers within a millisecond or two
	maxCallRatio  = 1.3
	maxFleetRatio = 1.5
)

// floor is the provider of Docker with its records in a directory, and beside
// it a plain program on the same engine. Each has one half of the network pool.
type floor struct {
	p     *floordriver.Provider
	owner string
	dir   string
	files *provider.DirStore
	store *countedStore
	host  *dialled
	plain *plain
}

// withFloor opens a floor, measures and takes away what is left.
func withFloor(ctx context.Context, o options, measure func(*floor) ([]line, error)) (_ []line, err error) {
	f := &floor{}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := f.open(ctx, o); err != nil {
		return nil, err
	}
	return measure(f)
}

func (f *floor) open(ctx context.Context, o options) error {
	ours, theirs, err := halves(o.floorPool)
	if err != nil {
		return err
	}
	if f.plain, err = newPlain(ctx, o, theirs); err != nil {
		return err
	}
	if f.dir, err = os.MkdirTemp("", "berth-bench-"); err != nil {
		return err
	}
	if f.files, err = provider.NewDirStore(filepath.Join(f.dir, "state")); err != nil {
		return err
	}
	f.store = &countedStore{StateStore: f.files}
	if f.host, err = newDialled(o.docker); err != nil {
		return err
	}
	f.owner = fmt.Sprintf("%s-%d", prefix, os.Getpid())
	f.p, err = floordriver.New(floordriver.Options{
		Host: o.docker, Dial: f.host.dial, Owner: f.owner, Prefix: prefix, State: f.store, Pool: ours,
	})
	return err
}

// halves cuts a /16 in two.
func halves(pool string) (low, high netip.Prefix, err error) {
	whole, err := netip.ParsePrefix(pool)
	if err != nil || whole.Bits() != 16 || !whole.Addr().Is4() {
		return low, high, fmt.Errorf("network pool %s is not an IPv4 /16", pool)
	}
	a := whole.Masked().Addr().As4()
	low = netip.PrefixFrom(netip.AddrFrom4(a), 17)
	a[2] = 128
	return low, netip.PrefixFrom(netip.AddrFrom4(a), 17), nil
}

// close takes away what is left in the engine, and the directory.
func (f *floor) close() error {
	var errs []error
	if f.p != nil {
		errs = append(errs, f.p.Close())
	}
	if f.plain != nil {
		errs = append(errs, sweep(f.plain.engine, f.owner), f.plain.engine.Close())
	}
	if f.files != nil {
		errs = append(errs, f.files.Close())
	}
	if f.dir != "" {
		errs = append(errs, os.RemoveAll(f.dir))
	}
	return errors.Join(errs...)
}

// sample is one operation: how long it took, what it asked of the engine and
// how often it wrote a record.
type sample struct {
	took             time.Duration
	requests, writes int64
}

func (f *floor) timed(do func() error) (sample, error) {
	requests, writes, begun := f.host.requests.Load(), f.store.writes.Load(), time.Now()
	err := do()
	return sample{time.Since(begun), f.host.requests.Load() - requests, f.store.writes.Load() - writes}, err
}

// provision asks for a workload and waits until it is ready.
func (f *floor) provision(ctx context.Context, workload id.ID, services []provider.ServiceSpec) error {
	req := provider.ProvisionRequest{InstanceID: workload, TenantID: prefix, Name: "bench", Services: services}
	if _, err := f.p.Provision(ctx, req); err != nil {
		return fmt.Errorf("provision: %w", err)
	}
	return f.ready(ctx, workload)
}

func (f *floor) ready(ctx context.Context, workload id.ID) error {
	_, err := provider.Await(ctx, f.p, workload, f.p.ReadinessPolicy())
	return err
}

// serves makes passes until the release that was asked for is ready. The old one
// still has to go then, which is what Await would go on with.
func (f *floor) serves(ctx context.Context, workload id.ID) error {
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	for {
		next, err := f.p.Step(ctx, workload)
		if err != nil {
			return err
		}
		st, err := f.p.Status(ctx, workload)
		switch {
		case err != nil:
			return err
		case st.Ready:
			return nil
		case st.State == provider.StateFailed:
			return fmt.Errorf("it is %s: %s", st.Reason, st.Message)
		}
		if !pause(ctx, min(next, f.p.ReadinessPolicy().Interval)) {
			return fmt.Errorf("it is not ready after %s: %s", awaitTime, st.Message)
		}
	}
}

// settle makes passes until the workload has so many containers and nothing is
// left to do for now.
func (f *floor) settle(ctx context.Context, workload id.ID, containers int) error {
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	for {
		next, err := f.p.Step(ctx, workload)
		if err != nil {
			return err
		}
		have, err := f.plain.list(ctx, map[string]string{docker.LabelInstance: f.owner, docker.LabelWorkload: workload.String()})
		if err != nil {
			return err
		}
		busy := next > 0 && next < 10*time.Millisecond
		if len(have) == containers && !busy {
			return nil
		}
		if next <= 0 || next > 100*time.Millisecond {
			next = 100 * time.Millisecond
		}
		if !pause(ctx, next) {
			return fmt.Errorf("%d containers are left of %d that are to stay", len(have), containers)
		}
	}
}

// web is a service of the image that says its version.
func web(version string) provider.ServiceSpec {
	return provider.ServiceSpec{
		Name: "web", Image: ref, Env: map[string]string{"VERSION": version},
		Ports:       []provider.PortSpec{{Container: port, Protocol: provider.ProtocolHTTP}},
		HealthCheck: &provider.HealthCheckSpec{Path: "/healthz", Port: port},
	}
}
