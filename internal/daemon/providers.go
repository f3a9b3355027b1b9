package daemon

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/api/workloads"
	"github.com/berth-cloud/berth/internal/dockerprovider"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/instrument"
)

// dockerName is the name of the provider on this daemon's own engine.
const dockerName = dockerprovider.Name

// wireProviders makes the providers, and what runs workloads on them. It makes no
// call: one that does not answer keeps nothing else from running.
func (d *daemon) wireProviders() error {
	state := stateStore{d.store}
	driver, err := dockerprovider.New(d.runtime, dockerprovider.Options{
		Owner: d.instance, Prefix: workloadPrefix(d.cfg.NetworkPrefix), State: state, Vault: d.vault,
		Pool: d.cfg.Pool, HostRoutes: hostRoutes, Logger: d.logger,
	})
	if err != nil {
		return fmt.Errorf("provider %s: %w", dockerName, err)
	}
	d.docker = driver
	d.registry = provider.NewRegistry()
	d.registry.Register(dockerName, instrument.Wrap(driver, instrument.Options{Logger: d.logger}))
	d.registry.SetDefault(dockerName)
	d.workloads, err = workloads.New(workloads.Config{
		State: state, Registry: d.registry, Tenant: api.Tenant, Vault: d.vault, Logger: d.logger,
		Wake: func(key reconcile.Key) { d.engine.Enqueue(key) },
	})
	return err
}

// closeProviders ends what they do in this process; workloads go on.
func (d *daemon) closeProviders() {
	d.workloads.Close()
	_ = d.docker.Close()
}

// workloadPrefix begins the names of the networks and volumes of workloads. A
// provider takes no dots in it.
func workloadPrefix(prefix string) string {
	return strings.ReplaceAll(application.NetworkPrefixOrDefault(prefix), ".", "-") + "-wl"
}

// watchProviders turns what providers hear into keys, until ctx is done.
func (d *daemon) watchProviders(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, name := range d.registry.List() {
		wg.Go(func() {
			d.engine.Watch(ctx, "provider "+name, func(ctx context.Context, ready func(), emit func(reconcile.Key)) error {
				return d.workloads.Watch(ctx, name, ready, emit)
			}, func() { d.wakeWorkloads(ctx) })
		})
	}
	return nil
}

// wakeWorkloads looks at every workload again after a stream of events was down.
func (d *daemon) wakeWorkloads(ctx context.Context) {
	keys, err := d.workloads.Keys(ctx)
	if err != nil {
		d.logger.ErrorContext(ctx, "list workloads", "error", err)
		d.engine.Resync()
		return
	}
	for _, key := range keys {
		d.engine.Kick(key)
	}
}

// checkProviders says of each provider whether it answers.
func (d *daemon) checkProviders(ctx context.Context) []wire.Check {
	var out []wire.Check
	for _, p := range d.workloads.Providers(ctx).Providers {
		out = append(out, providerCheck(p))
	}
	return out
}

// providerCheck is what doctor says of a provider.
func providerCheck(p wire.Provider) wire.Check {
	c := wire.Check{Name: "provider " + p.Name, State: wire.CheckOK, Message: fmt.Sprintf("%s, answers in %d ms", p.Message, p.LatencyMS)}
	if !p.Healthy {
		c.State, c.Message = wire.CheckFailed, p.Message
		c.Fix = "workloads on it go on, and cannot be changed until it answers; see that its orchestrator runs"
	}
	return c
}
