package instrument

import (
	"context"
	"io"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// core measures what every provider has.
type core struct {
	p        provider.Provider
	typeName string
	opts     Options
}

var _ provider.Provider = (*core)(nil)

func (c *core) unwrap() provider.Provider { return c.p }

// Info and Capabilities make no call, and are not measured.
func (c *core) Info() provider.ProviderInfo { return c.p.Info() }

func (c *core) Capabilities() []provider.Capability { return c.p.Capabilities() }

func (c *core) Provision(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
	return call(ctx, c, "Provision", req.InstanceID, func(ctx context.Context) (*provider.ProvisionResult, error) {
		return c.p.Provision(ctx, req)
	})
}

func (c *core) Deprovision(ctx context.Context, instanceID id.ID) error {
	return run(ctx, c, "Deprovision", instanceID, func(ctx context.Context) error { return c.p.Deprovision(ctx, instanceID) })
}

func (c *core) Start(ctx context.Context, instanceID id.ID) error {
	return run(ctx, c, "Start", instanceID, func(ctx context.Context) error { return c.p.Start(ctx, instanceID) })
}

func (c *core) Stop(ctx context.Context, instanceID id.ID) error {
	return run(ctx, c, "Stop", instanceID, func(ctx context.Context) error { return c.p.Stop(ctx, instanceID) })
}

func (c *core) Restart(ctx context.Context, instanceID id.ID) error {
	return run(ctx, c, "Restart", instanceID, func(ctx context.Context) error { return c.p.Restart(ctx, instanceID) })
}

func (c *core) Status(ctx context.Context, instanceID id.ID) (*provider.InstanceStatus, error) {
	return call(ctx, c, "Status", instanceID, func(ctx context.Context) (*provider.InstanceStatus, error) {
		return c.p.Status(ctx, instanceID)
	})
}

func (c *core) Deploy(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
	return call(ctx, c, "Deploy", req.InstanceID, func(ctx context.Context) (*provider.DeployResult, error) {
		return c.p.Deploy(ctx, req)
	})
}

func (c *core) Rollback(ctx context.Context, instanceID, releaseID id.ID) error {
	return run(ctx, c, "Rollback", instanceID, func(ctx context.Context) error { return c.p.Rollback(ctx, instanceID, releaseID) })
}

func (c *core) Scale(ctx context.Context, instanceID id.ID, spec provider.ResourceSpec) error {
	return run(ctx, c, "Scale", instanceID, func(ctx context.Context) error { return c.p.Scale(ctx, instanceID, spec) })
}

func (c *core) Resources(ctx context.Context, instanceID id.ID) (*provider.ResourceUsage, error) {
	return call(ctx, c, "Resources", instanceID, func(ctx context.Context) (*provider.ResourceUsage, error) {
		return c.p.Resources(ctx, instanceID)
	})
}

// Logs measures the opening of the stream. The caller reads on as long as it
// likes, which says nothing about the provider.
func (c *core) Logs(ctx context.Context, instanceID id.ID, opts provider.LogOptions) (io.ReadCloser, error) {
	return call(ctx, c, "Logs", instanceID, func(ctx context.Context) (io.ReadCloser, error) {
		return c.p.Logs(ctx, instanceID, opts)
	})
}

func (c *core) Exec(ctx context.Context, instanceID id.ID, cmd provider.ExecRequest) (*provider.ExecResult, error) {
	return call(ctx, c, "Exec", instanceID, func(ctx context.Context) (*provider.ExecResult, error) {
		return c.p.Exec(ctx, instanceID, cmd)
	})
}
