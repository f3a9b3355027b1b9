package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/store/sqlite"
)

const (
	// maxPassSeconds of processor time for one pass over 10,000 services.
	maxPassSeconds = 1
	// servicesPerApp keeps an app within its /24.
	servicesPerApp = 200
	simImage       = "sim:1"
)

// measurePass lets every service have a pass in which nothing is to do, on the
// simulated engine and the real store, and counts the processor time.
func measurePass(ctx context.Context, o options) ([]line, error) {
	tenth, err := passOver(ctx, o.services/10)
	if err != nil {
		return nil, err
	}
	whole, err := passOver(ctx, o.services)
	if err != nil {
		return nil, err
	}
	return []line{{
		What: fmt.Sprintf("no-op pass over %d services on the simulated engine, processor time", o.services), Value: whole.Seconds(), Format: "%.2f s",
		Target: maxPassSeconds * float64(o.services) / 10_000,
		Detail: fmt.Sprintf("queue, store and garbage collection included; median of %d; a tenth of the services takes %.2f s", passes, tenth.Seconds()),
	}}, nil
}

// fleet is many services on a simulated engine.
type fleet struct {
	engine *reconcile.Engine
	keys   []reconcile.Key
	left   atomic.Int64  // passes until over is told
	over   chan struct{} // has room for one
}

const (
	passes     = 5
	settleTime = 3 * time.Minute
)

// passOver is the processor time of one no-op pass over n services.
func passOver(ctx context.Context, n int) (_ time.Duration, err error) {
	dir, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	st, err := sqlite.Open(ctx, sqlite.Options{Dir: dir})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	sim := dockertest.New(dockertest.NewWallClock())
	defer sim.Close()
	sim.AddImage(simImage, docker.Image{}, dockertest.Behaviour{Port: port})
	f := newFleet(st, sim)
	if err := f.desire(ctx, st, n); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = f.engine.Run(ctx) })
	defer running.Wait()
	defer cancel()
	if err := f.converge(ctx); err != nil {
		return 0, err
	}
	var took []time.Duration
	for range passes {
		runtime.GC()
		before := processorTime()
		if err := f.round(ctx); err != nil {
			return 0, err
		}
		took = append(took, processorTime()-before)
	}
	return median(took), nil
}

func newFleet(st *sqlite.Store, sim *dockertest.Engine) *fleet {
	const instance = "bench"
	f := &fleet{over: make(chan struct{}, 1)}
	options := []application.Option{
		application.WithInstanceID(instance), application.WithMemory(application.NewMemory(nil)),
		application.WithProber(simProber{sim}),
		application.WithNetworks(&application.Networks{Store: st, Runtime: sim, Instance: instance, Pool: application.DefaultPool}),
	}
	factory := func(_ context.Context, key reconcile.Key) (reconcile.Controller, error) {
		return application.New(key.Name, st, sim, options...), nil
	}
	f.engine = reconcile.New(factory, reconcile.Config{Store: st, Workers: 32, OnResult: func(reconcile.Outcome) {
		if f.left.Add(-1) == 0 {
			f.over <- struct{}{}
		}
	}})
	return f
}

// desire writes the services, an app at a time.
func (f *fleet) desire(ctx context.Context, st *sqlite.Store, n int) error {
	for len(f.keys) < n {
		appID := fmt.Sprintf("app%d", len(f.keys)/servicesPerApp)
		change := store.Change{AppID: appID, Kind: store.AttemptApply, Now: time.Now(), Actions: map[string]string{}}
		for range min(servicesPerApp, n-len(f.keys)) {
			short := fmt.Sprintf("s%d", len(f.keys))
			name := appID + "-" + short
			change.Put = append(change.Put, store.DesiredService{Name: name, AppID: appID, Image: simImage, Replicas: 1, Spec: service(short)})
			change.Actions[name] = "create"
			f.keys = append(f.keys, reconcile.Key{Kind: "application", Name: name})
		}
		if _, err := st.ApplyChange(ctx, change); err != nil {
			return err
		}
	}
	return nil
}

func service(name string) spec.Service {
	return spec.Service{
		Name: name, Image: simImage, Port: port, Replicas: 1, Strategy: spec.BlueGreen,
		Readiness:    &spec.Probe{Path: "/", Interval: time.Second, Timeout: time.Second, ExpectedStatus: "200-299"},
		ReadyTimeout: time.Minute, DrainTimeout: time.Second, StopGrace: time.Second, HoldTimeout: time.Second,
	}
}

// converge lets the services come up and waits until none asks for more.
func (f *fleet) converge(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	f.left.Store(math.MaxInt64)
	f.enqueue()
	for i := 0; i < len(f.keys); {
		out, ran := f.engine.Results(f.keys[i])
		if ran && out.Err == nil && out.Next.IsZero() && len(out.Conditions) > 0 && out.Conditions[0].Status == reconcile.True {
			i++
			continue
		}
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("%d of %d services came up within %s; the next one: %+v", i, len(f.keys), settleTime, out)
		}
	}
	return nil
}

func (f *fleet) enqueue() {
	for _, k := range f.keys {
		f.engine.Enqueue(k)
	}
}

// round gives every service one pass and waits for all of them.
func (f *fleet) round(ctx context.Context) error {
	f.left.Store(int64(len(f.keys)))
	f.enqueue()
	select {
	case <-f.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// simProber asks the simulated containers.
type simProber struct{ engine *dockertest.Engine }

// Probe asks for the declared path.
func (p simProber) Probe(ctx context.Context, addr netip.AddrPort, declared *spec.Probe) (bool, string) {
	status, err := p.engine.HTTP(ctx, addr, declared.Path)
	if err != nil {
		return false, err.Error()
	}
	return status == http.StatusOK, fmt.Sprintf("status %d", status)
}

// processorTime is what this process has used so far, user and system.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
