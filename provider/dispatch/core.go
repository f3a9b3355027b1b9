package dispatch

import (
	"context"
	"fmt"
	"io"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// core sends the verbs of container services to the provider's own methods, once
// the provider advertises what the verb needs.
type core struct{ p provider.Provider }

var _ Target = core{}

// need is ErrNotSupported when p does not advertise a capability.
func (c core) need(verb string, capability provider.Capability) error {
	if provider.HasCapability(c.p, capability) {
		return nil
	}
	return fmt.Errorf("%s on %s: %w: it lacks %s", verb, provider.TypeName(c.p), provider.ErrNotSupported, capability)
}

func (c core) Provision(ctx context.Context, req ProvisionRequest) (*provider.ProvisionResult, error) {
	if err := check(req.Source.Type, provider.SourceServices, len(req.Source.Services) > 0); err != nil {
		return nil, err
	}
	return c.p.Provision(ctx, provider.ProvisionRequest{
		InstanceID: req.InstanceID, TenantID: req.TenantID, Name: req.Name, Kind: req.Kind, Services: req.Source.Services,
		Labels: req.Labels, ReleaseID: req.ReleaseID, Network: req.Network, Rollout: req.Rollout,
	})
}

// strategies are the capabilities that strategies need; what is not here needs
// none, or is unknown and the provider's to refuse.
var strategies = map[string]provider.Capability{
	provider.StrategyBlueGreen: provider.CapBlueGreen,
	provider.StrategyRolling:   provider.CapRolling,
	provider.StrategyCanary:    provider.CapCanary,
}

func (c core) Deploy(ctx context.Context, req DeployRequest) (*provider.DeployResult, error) {
	if req.Source.Type != "" && req.Source.Type != provider.SourceServices {
		return nil, check(req.Source.Type, provider.SourceServices, true)
	}
	if len(req.Source.Services) > 0 {
		return nil, fmt.Errorf("%w: a deploy of services lists those that change, not a source", provider.ErrInvalid)
	}
	if err := c.need("deploy", provider.CapDeploy); err != nil {
		return nil, err
	}
	if capability, ok := strategies[req.Strategy]; ok {
		if err := c.need("deploy", capability); err != nil {
			return nil, err
		}
	}
	return c.p.Deploy(ctx, provider.DeployRequest{
		InstanceID: req.InstanceID, ReleaseID: req.ReleaseID, Services: req.Services, Strategy: req.Strategy, Rollout: req.Rollout,
	})
}

func (c core) Rollback(ctx context.Context, instanceID, releaseID id.ID) error {
	if err := c.need("rollback", provider.CapDeploy); err != nil {
		return err
	}
	return c.p.Rollback(ctx, instanceID, releaseID)
}

func (c core) Scale(ctx context.Context, instanceID id.ID, spec provider.ResourceSpec) error {
	if err := c.need("scale", provider.CapScale); err != nil {
		return err
	}
	return c.p.Scale(ctx, instanceID, spec)
}

func (c core) Start(ctx context.Context, instanceID id.ID) error { return c.p.Start(ctx, instanceID) }

func (c core) Stop(ctx context.Context, instanceID id.ID) error { return c.p.Stop(ctx, instanceID) }

func (c core) Restart(ctx context.Context, instanceID id.ID) error {
	return c.p.Restart(ctx, instanceID)
}

func (c core) Status(ctx context.Context, instanceID id.ID) (*provider.InstanceStatus, error) {
	return c.p.Status(ctx, instanceID)
}

func (c core) Logs(ctx context.Context, instanceID id.ID, opts provider.LogOptions) (io.ReadCloser, error) {
	if err := c.need("logs", provider.CapLogs); err != nil {
		return nil, err
	}
	return c.p.Logs(ctx, instanceID, opts)
}

func (c core) Exec(ctx context.Context, instanceID id.ID, cmd provider.ExecRequest) (*provider.ExecResult, error) {
	if err := c.need("exec", provider.CapExec); err != nil {
		return nil, err
	}
	return c.p.Exec(ctx, instanceID, cmd)
}

func (c core) Resources(ctx context.Context, instanceID id.ID) (*provider.ResourceUsage, error) {
	return c.p.Resources(ctx, instanceID)
}

func (c core) Deprovision(ctx context.Context, instanceID id.ID) error {
	return c.p.Deprovision(ctx, instanceID)
}
