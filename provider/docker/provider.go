package docker

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker/engine"
	"github.com/berth-cloud/berth/internal/dockerprovider"
	"github.com/berth-cloud/berth/provider"
)

// Provider runs workloads on one Docker engine. It is safe for concurrent use.
type Provider struct {
	driver *dockerprovider.Driver
	engine *engine.Client
}

var (
	_ provider.Provider        = (*Provider)(nil)
	_ provider.Stepper         = (*Provider)(nil)
	_ provider.Watcher         = (*Provider)(nil)
	_ provider.HealthChecker   = (*Provider)(nil)
	_ provider.ReadinessWaiter = (*Provider)(nil)
	_ provider.VolumeKeeper    = (*Provider)(nil)
	_ provider.ImageInspector  = (*Provider)(nil)
)

// New prepares a provider. It dials nothing: an engine that does not answer shows
// in HealthCheck, and as provider.ErrUnavailable at the first call. Options that make no
// sense are provider.ErrInvalid. Close the provider when done.
func New(o Options) (*Provider, error) {
	client, err := engine.New(engine.Options{Host: o.Host, Dial: o.Dial, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	driver, err := dockerprovider.New(client, dockerprovider.Options{
		Owner: o.Owner, Prefix: o.Prefix, State: o.State, Vault: o.Vault, AllowCapabilities: o.AllowCapabilities,
		PublicHost: o.PublicHost, Region: o.Region, Location: o.Location, Pool: o.Pool, HostRoutes: o.HostRoutes, Logger: o.Logger,
	})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &Provider{driver: driver, engine: client}, nil
}

// Close ends fetches of images that are under way. Workloads go on.
func (p *Provider) Close() error { return errors.Join(p.driver.Close(), p.engine.Close()) }

// Info implements provider.Provider. The version is the engine's, once HealthCheck
// has asked for it.
func (p *Provider) Info() provider.ProviderInfo { return p.driver.Info() }

// Capabilities implements provider.Provider.
func (p *Provider) Capabilities() []provider.Capability { return p.driver.Capabilities() }

// ReadinessPolicy implements provider.ReadinessWaiter. A release fails by itself
// after RolloutSpec.ReadyTimeout; the policy leaves room for it.
func (p *Provider) ReadinessPolicy() provider.ReadinessPolicy { return p.driver.ReadinessPolicy() }

// Provision implements provider.Provider.
func (p *Provider) Provision(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
	return p.driver.Provision(ctx, req)
}

// Deprovision implements provider.Provider.
func (p *Provider) Deprovision(ctx context.Context, instanceID id.ID) error {
	return p.driver.Deprovision(ctx, instanceID)
}

// Start implements provider.Provider.
func (p *Provider) Start(ctx context.Context, instanceID id.ID) error {
	return p.driver.Start(ctx, instanceID)
}

// Stop implements provider.Provider. It returns once nothing runs.
func (p *Provider) Stop(ctx context.Context, instanceID id.ID) error {
	return p.driver.Stop(ctx, instanceID)
}

// Restart implements provider.Provider. Every container is replaced, as a deploy
// of the same content would.
func (p *Provider) Restart(ctx context.Context, instanceID id.ID) error {
	return p.driver.Restart(ctx, instanceID)
}

// Status implements provider.Provider.
func (p *Provider) Status(ctx context.Context, instanceID id.ID) (*provider.InstanceStatus, error) {
	return p.driver.Status(ctx, instanceID)
}

// Deploy implements provider.Provider.
func (p *Provider) Deploy(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
	return p.driver.Deploy(ctx, req)
}

// Rollback implements provider.Provider. It also ends a rollout that is under
// way.
func (p *Provider) Rollback(ctx context.Context, instanceID, releaseID id.ID) error {
	return p.driver.Rollback(ctx, instanceID, releaseID)
}

// Scale implements provider.Provider. Another number of replicas leaves the
// containers alone that stay; another size rolls.
func (p *Provider) Scale(ctx context.Context, instanceID id.ID, spec provider.ResourceSpec) error {
	return p.driver.Scale(ctx, instanceID, spec)
}

// Resources implements provider.Provider. It takes a second or two, since a rate
// needs two readings.
func (p *Provider) Resources(ctx context.Context, instanceID id.ID) (*provider.ResourceUsage, error) {
	return p.driver.Resources(ctx, instanceID)
}

// Logs implements provider.Provider. The caller closes the stream.
func (p *Provider) Logs(ctx context.Context, instanceID id.ID, opts provider.LogOptions) (io.ReadCloser, error) {
	return p.driver.Logs(ctx, instanceID, opts)
}

// Exec implements provider.Provider.
func (p *Provider) Exec(ctx context.Context, instanceID id.ID, cmd provider.ExecRequest) (*provider.ExecResult, error) {
	return p.driver.Exec(ctx, instanceID, cmd)
}

// Step implements provider.Stepper.
func (p *Provider) Step(ctx context.Context, instanceID id.ID) (time.Duration, error) {
	return p.driver.Step(ctx, instanceID)
}

// Watch implements provider.Watcher.
func (p *Provider) Watch(ctx context.Context, ready func(), fn func(id.ID)) error {
	return p.driver.Watch(ctx, ready, fn)
}

// HealthCheck implements provider.HealthChecker.
func (p *Provider) HealthCheck(ctx context.Context) (*provider.HealthStatus, error) {
	return p.driver.HealthCheck(ctx)
}

// KeptVolumes implements provider.VolumeKeeper.
func (p *Provider) KeptVolumes(ctx context.Context, tenantID string) ([]provider.KeptVolume, error) {
	return p.driver.KeptVolumes(ctx, tenantID)
}

// RemoveKeptVolume implements provider.VolumeKeeper. A container that has the volume
// and does not run keeps it too.
func (p *Provider) RemoveKeptVolume(ctx context.Context, tenantID, volumeID string) error {
	return p.driver.RemoveKeptVolume(ctx, tenantID, volumeID)
}

// KeptVolumeUsage implements provider.VolumeKeeper. The engine reads all files of all
// its volumes for it: ask seldom, with a context that bounds it.
func (p *Provider) KeptVolumeUsage(ctx context.Context, tenantID string, volumeIDs []string) (map[string]int64, error) {
	return p.driver.KeptVolumeUsage(ctx, tenantID, volumeIDs)
}

// InspectImage implements provider.ImageInspector. An image that is not on the engine
// is fetched beside the call, with the credentials of the first call that asked for it.
func (p *Provider) InspectImage(ctx context.Context, ref string) (*provider.ImageInfo, error) {
	return p.driver.InspectImage(ctx, ref)
}
