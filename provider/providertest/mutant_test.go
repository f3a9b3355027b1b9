package providertest_test

import (
	"context"
	"io"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/memory/memorytest"
	"github.com/berth-cloud/berth/provider/providertest"
)

// mutation is the provider in memory with one rule broken.
type mutation struct {
	name   string
	mode   memory.Mode
	break_ func(m *mutant)

	// lingers is of a mutant some of whose calls end an hour late.
	lingers bool

	// world changes what is around the provider. Optional.
	world func(w *memorytest.World, fx *providertest.Fixture)

	// fails are the cases that must notice.
	fails []string
}

// mutant is a provider whose methods a mutation replaces. What is nil stays.
type mutant struct {
	*memory.Provider
	world *memorytest.World
	busy  atomic.Int32

	provision    func(context.Context, provider.ProvisionRequest) (*provider.ProvisionResult, error)
	deprovision  func(context.Context, id.ID) error
	start        func(context.Context, id.ID) error
	stop         func(context.Context, id.ID) error
	restart      func(context.Context, id.ID) error
	status       func(context.Context, id.ID) (*provider.InstanceStatus, error)
	deploy       func(context.Context, provider.DeployRequest) (*provider.DeployResult, error)
	rollback     func(ctx context.Context, instance, release id.ID) error
	scale        func(context.Context, id.ID, provider.ResourceSpec) error
	resources    func(context.Context, id.ID) (*provider.ResourceUsage, error)
	logs         func(context.Context, id.ID, provider.LogOptions) (io.ReadCloser, error)
	exec         func(context.Context, id.ID, provider.ExecRequest) (*provider.ExecResult, error)
	step         func(context.Context, id.ID) (time.Duration, error)
	watch        func(context.Context, func(), func(id.ID)) error
	capabilities func() []provider.Capability
	check        func(context.Context) (*provider.HealthStatus, error)
	kept         func(ctx context.Context, tenant string) ([]provider.KeptVolume, error)
	removeKept   func(ctx context.Context, tenant, volume string) error
	usage        func(ctx context.Context, tenant string, volumes []string) (map[string]int64, error)
	inspect      func(ctx context.Context, ref string) (*provider.ImageInfo, error)
}

func (m *mutant) Provision(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
	return or(m.provision, m.Provider.Provision)(ctx, req)
}

func (m *mutant) Deprovision(ctx context.Context, instance id.ID) error {
	return or(m.deprovision, m.Provider.Deprovision)(ctx, instance)
}

func (m *mutant) Start(ctx context.Context, instance id.ID) error {
	return or(m.start, m.Provider.Start)(ctx, instance)
}

func (m *mutant) Stop(ctx context.Context, instance id.ID) error {
	return or(m.stop, m.Provider.Stop)(ctx, instance)
}

func (m *mutant) Restart(ctx context.Context, instance id.ID) error {
	return or(m.restart, m.Provider.Restart)(ctx, instance)
}

func (m *mutant) Status(ctx context.Context, instance id.ID) (*provider.InstanceStatus, error) {
	return or(m.status, m.Provider.Status)(ctx, instance)
}

func (m *mutant) Deploy(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
	return or(m.deploy, m.Provider.Deploy)(ctx, req)
}

func (m *mutant) Rollback(ctx context.Context, instance, release id.ID) error {
	return or(m.rollback, m.Provider.Rollback)(ctx, instance, release)
}

func (m *mutant) Scale(ctx context.Context, instance id.ID, spec provider.ResourceSpec) error {
	return or(m.scale, m.Provider.Scale)(ctx, instance, spec)
}

func (m *mutant) Resources(ctx context.Context, instance id.ID) (*provider.ResourceUsage, error) {
	return or(m.resources, m.Provider.Resources)(ctx, instance)
}

func (m *mutant) Logs(ctx context.Context, instance id.ID, opts provider.LogOptions) (io.ReadCloser, error) {
	return or(m.logs, m.Provider.Logs)(ctx, instance, opts)
}

func (m *mutant) Exec(ctx context.Context, instance id.ID, req provider.ExecRequest) (*provider.ExecResult, error) {
	return or(m.exec, m.Provider.Exec)(ctx, instance, req)
}

func (m *mutant) Step(ctx context.Context, instance id.ID) (time.Duration, error) {
	return or(m.step, m.Provider.Step)(ctx, instance)
}

func (m *mutant) Watch(ctx context.Context, ready func(), fn func(id.ID)) error {
	return or(m.watch, m.Provider.Watch)(ctx, ready, fn)
}

func (m *mutant) Capabilities() []provider.Capability {
	return or(m.capabilities, m.Provider.Capabilities)()
}

func (m *mutant) HealthCheck(ctx context.Context) (*provider.HealthStatus, error) {
	return or(m.check, m.Provider.HealthCheck)(ctx)
}

func (m *mutant) KeptVolumes(ctx context.Context, tenant string) ([]provider.KeptVolume, error) {
	return or(m.kept, m.Provider.KeptVolumes)(ctx, tenant)
}

func (m *mutant) RemoveKeptVolume(ctx context.Context, tenant, volume string) error {
	return or(m.removeKept, m.Provider.RemoveKeptVolume)(ctx, tenant, volume)
}

func (m *mutant) KeptVolumeUsage(ctx context.Context, tenant string, volumes []string) (map[string]int64, error) {
	return or(m.usage, m.Provider.KeptVolumeUsage)(ctx, tenant, volumes)
}

func (m *mutant) InspectImage(ctx context.Context, ref string) (*provider.ImageInfo, error) {
	return or(m.inspect, m.Provider.InspectImage)(ctx, ref)
}

// or is the first function that there is.
func or[F any](f, otherwise F) F {
	if reflect.ValueOf(f).IsNil() {
		return otherwise
	}
	return f
}

// never are cases that no mutation of memory can fail, with the reason.
var never = map[string]string{
	"Deploy/Canary": "memory does not list the strategy, and the case is skipped",
}

func TestEveryCaseFailsSomeBrokenProvider(t *testing.T) {
	noticed := map[string]bool{}
	for i, mutation := range mutations {
		for _, name := range mutation.fails {
			noticed[name] = true
		}
		if i%stride != 0 {
			continue
		}
		t.Run(mutation.name, func(t *testing.T) {
			t.Parallel()
			for _, name := range mutation.fails {
				c, ok := find(name)
				if !ok {
					t.Errorf("there is no case %s", name)
					continue
				}
				r := inBubble(t, c, mutation.mode, mutation.lingers, func(w *memorytest.World, fx *providertest.Fixture) {
					w.Wrap = func(p *memory.Provider) provider.Provider {
						m := &mutant{Provider: p, world: w}
						if mutation.break_ != nil {
							mutation.break_(m)
						}
						return m
					}
					fx.Provider, fx.Wait = w.Provider(), waitCoarsely
					if mutation.world != nil {
						mutation.world(w, fx)
					}
				})
				if !r.failed {
					t.Errorf("case %s did not notice: %s", name, r)
				} else {
					t.Logf("%s: %.200s", name, r.said[0])
				}
			}
		})
	}
	for _, c := range providertest.Cases() {
		if _, known := never[c.Name]; !known && !noticed[c.Name] {
			t.Errorf("no broken provider fails %s", c.Name)
		}
	}
}

func find(name string) (providertest.Case, bool) {
	for _, c := range providertest.Cases() {
		if c.Name == name {
			return c, true
		}
	}
	return providertest.Case{}, false
}

func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range providertest.Cases() {
		if seen[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		seen[c.Name] = true
	}
}

func TestAGoodProviderPassesUnderARecorder(t *testing.T) {
	c, _ := find("Provision/Repeated")
	if r := inBubble(t, c, memory.Stepped, false, nil); r.failed || r.skipped {
		t.Errorf("it went %s", r)
	}
}

func TestWhatAProviderDoesNotListIsSkipped(t *testing.T) {
	c, _ := find("Deploy/Canary")
	if r := inBubble(t, c, memory.Sync, false, nil); r.failed || !r.skipped {
		t.Errorf("it went %s", r)
	}
}
