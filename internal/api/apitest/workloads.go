package apitest

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/api/workloads"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	rollouts "github.com/berth-cloud/berth/provider/rollout"
	"github.com/berth-cloud/berth/secrets"
)

// ProviderName is the name of the provider that workloads of tests run on.
const ProviderName = "memory"

// Workloads is the real service of workloads on a provider in memory, driven by a
// real engine. Time is real here: rollouts have deadlines.
type Workloads struct {
	Service  *workloads.Service
	Engine   *reconcile.Engine
	Registry *provider.Registry
	Provider *memory.Provider
	State    provider.StateStore
	Vault    secrets.Vault
	// Patience is that of the Service that Reopen makes next.
	Patience time.Duration
}

// NewWorkloads makes one; logger may be nil. Close it when done.
func NewWorkloads(logger *slog.Logger) (*Workloads, error) {
	w := &Workloads{Registry: provider.NewRegistry(), State: provider.NewMemoryStore(), Vault: secrets.NewMemory()}
	w.Provider = memory.New(memory.Options{Store: provider.NewMemoryStore(), Vault: w.Vault, Mode: memory.Stepped})
	w.Provider.Cluster().AddImage("missing:1", memory.Image{Missing: true})
	w.Provider.Cluster().AddImage("shop:1", shop("one"))
	w.Provider.Cluster().AddImage("shop:2", shop("two"))
	w.Provider.Cluster().AddImage("broken:1", memory.Image{Entrypoint: []string{"/fail"}, Programs: map[string]memory.Program{"/fail": fail}})
	w.Registry.Register(ProviderName, w.Provider)
	w.Registry.SetDefault(ProviderName)
	return w, w.Reopen(logger)
}

// Reopen makes a new Service on what is recorded, as a daemon that starts again
// does. The one before must not be used any more.
func (w *Workloads) Reopen(logger *slog.Logger) error {
	var err error
	w.Service, err = workloads.New(workloads.Config{
		State: w.State, Registry: w.Registry, Tenant: api.Tenant, Vault: w.Vault, Logger: logger, Patience: w.Patience,
		Policy: rollouts.Policy{Deadline: 30 * time.Second, UndoDeadline: 30 * time.Second, MaxAttempts: 3},
		Wake:   func(key reconcile.Key) { w.Engine.Enqueue(key) },
	})
	if err != nil {
		return err
	}
	w.Engine = reconcile.New(func(ctx context.Context, key reconcile.Key) (reconcile.Controller, error) {
		return w.Service.Controller(ctx, key.Name)
	}, reconcile.Config{List: w.Service.Keys, Logger: logger, Workers: 4, Backoff: reconcile.Backoff{Base: 20 * time.Millisecond, Ceiling: 200 * time.Millisecond}})
	return nil
}

// Run drives the workloads until ctx is done.
func (w *Workloads) Run(ctx context.Context) {
	engine, service := w.Engine, w.Service
	var wg sync.WaitGroup
	wg.Go(func() { _ = engine.Run(ctx) })
	wg.Go(func() {
		engine.Watch(ctx, ProviderName, func(ctx context.Context, ready func(), emit func(reconcile.Key)) error {
			return service.Watch(ctx, ProviderName, ready, emit)
		}, nil)
	})
	wg.Wait()
}

// Close ends everything but the records.
func (w *Workloads) Close() {
	w.Service.Close()
	w.Provider.Close()
}
