package rollout

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a manager with everything around it, and a clock that stands until it
// is moved.
type world struct {
	*Manager
	t        testing.TB
	store    *memStore
	fake     *fake
	registry *provider.Registry
	clock    time.Time
	ids      *id.Generator
	workload id.ID
	events   []Event
}

func newWorld(t testing.TB, opts Options) *world {
	t.Helper()
	w := &world{t: t, store: newMemStore(), fake: newFake(), registry: provider.NewRegistry(), clock: epoch}
	w.ids = &id.Generator{Now: func() time.Time { return epoch }}
	w.workload = w.ids.New(id.KindWorkload)
	w.registry.Register("here", w.fake)
	w.Manager = w.manager(w.store, w.registry, opts)
	return w
}

// manager is a Manager as another process would have it.
func (w *world) manager(store provider.StateStore, providers Providers, opts Options) *Manager {
	opts.Now = func() time.Time { return w.clock }
	opts.NewID = w.ids.New
	opts.Events = func(e Event) { w.events = append(w.events, e) }
	return New(store, providers, opts)
}

func (w *world) request() provider.ProvisionRequest {
	return provider.ProvisionRequest{
		InstanceID: w.workload, TenantID: "acme", Name: "shop",
		Services: []provider.ServiceSpec{
			{Name: "web", Image: "web:1", Env: map[string]string{"A": "1"}, Ports: []provider.PortSpec{{Container: 8080}}},
			{Name: "cache", Image: "cache:1", Role: provider.RoleSidecar},
		},
	}
}

func image(service, image string) provider.ServiceDeploySpec {
	return provider.ServiceDeploySpec{Name: service, Image: image}
}

func (w *world) change(services ...provider.ServiceDeploySpec) provider.DeployRequest {
	return provider.DeployRequest{InstanceID: w.workload, ReleaseID: w.ids.New(id.KindRelease), Services: services}
}

// drive steps until nothing is open, and moves the clock on between.
func (w *world) drive() {
	w.t.Helper()
	for range 1000 {
		wait, err := w.Step(w.ctx(), w.workload)
		if err != nil {
			w.t.Fatalf("step: %v", err)
		}
		if wait == 0 {
			return
		}
		w.clock = w.clock.Add(wait)
	}
	w.t.Fatal("a thousand steps, and the rollout is still open")
}

func (w *world) ctx() context.Context { return context.Background() }

// provisioned is a workload whose first release serves.
func (w *world) provisioned() *world {
	w.t.Helper()
	if _, err := w.Provision(w.ctx(), "here", w.request(), With{}); err != nil {
		w.t.Fatalf("provision: %v", err)
	}
	w.drive()
	w.served(1)
	return w
}

// deployed deploys and drives to the end.
func (w *world) deployed(services ...provider.ServiceDeploySpec) Rollout {
	w.t.Helper()
	res, err := w.Deploy(w.ctx(), w.change(services...), With{})
	if err != nil {
		w.t.Fatalf("deploy: %v", err)
	}
	w.drive()
	return w.rollout(res.Rollout.ID)
}

func (w *world) rollout(rollout id.ID) Rollout {
	w.t.Helper()
	ro, err := w.Rollout(w.ctx(), w.workload, rollout)
	if err != nil {
		w.t.Fatalf("rollout: %v", err)
	}
	return *ro
}

// served checks which version is current and that the provider serves it.
func (w *world) served(version int64) *Release {
	w.t.Helper()
	rel, err := w.Current(w.ctx(), w.workload)
	if err != nil {
		w.t.Fatalf("current: %v", err)
	}
	in := w.fake.instances[w.workload]
	if rel.Version != version || in == nil || in.serving != rel.Ref || in.target != rel.Ref {
		w.t.Fatalf("current is version %d (%s), the provider has %+v; want version %d", rel.Version, rel.ID, in, version)
	}
	return rel
}

func (w *world) wantErr(err, want error) {
	w.t.Helper()
	if !errors.Is(err, want) {
		w.t.Fatalf("error %v, want %v", err, want)
	}
}

// unchanged runs act and checks that it wrote nothing.
func (w *world) unchanged(act func()) {
	w.t.Helper()
	before := w.store.writes
	act()
	if w.store.writes != before {
		w.t.Fatalf("%d records were written, none was expected", w.store.writes-before)
	}
}
