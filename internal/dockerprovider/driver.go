package dockerprovider

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/keylock"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/provider"
)

// Driver runs workloads on one engine. It is safe for concurrent use.
type Driver struct {
	rt       *counting
	opts     Options
	limits   translate.Limits
	records  *records.Store
	memory   *application.Memory
	puller   *application.Puller
	networks *application.Networks
	locks    keylock.Locks        // of workloads, and of networks
	hub      reconcile.Hub[id.ID] // who watches
	gone     gone                 // what was deprovisioned
	logs     openLogs             // what callers read
	watches  watches              // what checks of containers that serve have shown
	leaving  leaving              // what traffic has just left
	holds    holds                // what waits for a volume
	version  atomic.Pointer[string]
	now      func() time.Time
	logger   *slog.Logger
}

var (
	_ provider.Provider        = (*Driver)(nil)
	_ provider.Stepper         = (*Driver)(nil)
	_ provider.Watcher         = (*Driver)(nil)
	_ provider.HealthChecker   = (*Driver)(nil)
	_ provider.ReadinessWaiter = (*Driver)(nil)
	_ provider.VolumeKeeper    = (*Driver)(nil)
	_ provider.ImageInspector  = (*Driver)(nil)
)

// Name is the type of orchestrator, as ProviderInfo has it.
const Name = "docker"

// New makes a driver for an engine. It makes no call. Close it when done.
func New(rt docker.Runtime, o Options) (*Driver, error) {
	if err := checkRuntime(rt); err != nil {
		return nil, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Driver{
		rt: newCounting(rt), opts: o, now: o.Now, logger: o.Logger,
		limits:  translate.Limits{Capabilities: o.AllowCapabilities, Vault: o.Vault != nil},
		records: records.New(o.State, "docker/"+o.Owner, o.Now),
		memory:  application.NewMemory(nil),
	}
	d.puller = application.NewPuller(d.now, func(service string) {
		if v, err := id.Parse(service); err == nil {
			d.hub.Tell(v)
		}
	})
	d.puller.Logger = d.logger
	if o.SpawnPull != nil {
		d.puller.Spawn = o.SpawnPull
	}
	d.networks = &application.Networks{
		Store: d.records, Runtime: d.rt, Instance: o.Owner, Prefix: o.Prefix, Pool: o.Pool, Bridges: o.Bridges,
		HostRoutes: o.HostRoutes, Now: o.Now,
	}
	return d, nil
}

// Close ends the fetches of images and waits for them. The engine is not
// touched.
func (d *Driver) Close() error {
	d.puller.Close()
	return nil
}

// Info implements provider.Provider. The version is the engine's, once a
// HealthCheck has asked for it.
func (d *Driver) Info() provider.ProviderInfo {
	info := provider.ProviderInfo{Name: Name, Region: d.opts.Region}
	if v := d.version.Load(); v != nil {
		info.Version = *v
	}
	if l := d.opts.Location; l != nil {
		where := *l
		info.Location = &where
	}
	return info
}

var capabilities = []provider.Capability{
	provider.CapProvision, provider.CapDeploy, provider.CapScale, provider.CapLogs, provider.CapExec, provider.CapVolumes,
	provider.CapKeptVolumes,
	provider.CapRolling, provider.CapBlueGreen,
}

// Capabilities implements provider.Provider.
func (d *Driver) Capabilities() []provider.Capability { return slices.Clone(capabilities) }

// ReadinessPolicy implements provider.ReadinessWaiter. A release that is not
// ready in its own time fails by itself; this is for those that wait.
func (d *Driver) ReadinessPolicy() provider.ReadinessPolicy {
	return provider.ReadinessPolicy{Timeout: 2 * provider.DefaultReadinessTimeout, Interval: time.Second}
}

// ownerLabels are on everything that the driver made for a workload.
func (d *Driver) ownerLabels(workload id.ID) map[string]string {
	return map[string]string{docker.LabelInstance: d.opts.Owner, docker.LabelWorkload: workload.String()}
}

// containers lists a workload's containers, or an empty list.
func (d *Driver) containers(ctx context.Context, workload id.ID) ([]docker.ContainerState, error) {
	list, err := d.rt.List(ctx, d.ownerLabels(workload))
	return list, failed("list containers of "+workload.String(), err)
}

// ref is the handle of a workload, for people.
func ref(workload id.ID) string { return Name + ":" + workload.String() }
