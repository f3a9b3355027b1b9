package dispatch

import (
	"context"
	"fmt"
	"io"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Target takes the verbs for workloads of one type of source on one provider.
// The rules of package provider hold for each of them.
type Target interface {
	// Provision makes the workload from req.Source.
	Provision(ctx context.Context, req ProvisionRequest) (*provider.ProvisionResult, error)

	// Deploy changes it, as req says in the way of its source.
	Deploy(ctx context.Context, req DeployRequest) (*provider.DeployResult, error)

	Rollback(ctx context.Context, instanceID, releaseID id.ID) error
	Scale(ctx context.Context, instanceID id.ID, spec provider.ResourceSpec) error
	Start(ctx context.Context, instanceID id.ID) error
	Stop(ctx context.Context, instanceID id.ID) error
	Restart(ctx context.Context, instanceID id.ID) error
	Status(ctx context.Context, instanceID id.ID) (*provider.InstanceStatus, error)
	Logs(ctx context.Context, instanceID id.ID, opts provider.LogOptions) (io.ReadCloser, error)
	Exec(ctx context.Context, instanceID id.ID, cmd provider.ExecRequest) (*provider.ExecResult, error)
	Resources(ctx context.Context, instanceID id.ID) (*provider.ResourceUsage, error)
	Deprovision(ctx context.Context, instanceID id.ID) error
}

// ProvisionRequest is a workload of any source. Kind, Network, ReleaseID and
// Rollout are for container services; another source that comes with one of them is
// provider.ErrInvalid.
type ProvisionRequest struct {
	InstanceID id.ID
	TenantID   string
	Name       string
	Kind       provider.WorkloadKind
	Labels     map[string]string
	ReleaseID  id.ID
	Network    string
	Rollout    *provider.RolloutSpec
	Source     provider.RenderedSource
}

// DeployRequest is a change. Of container services Services lists those that
// change; of another source Source is all of the new one.
type DeployRequest struct {
	InstanceID id.ID
	TenantID   string
	ReleaseID  id.ID
	Labels     map[string]string

	// Services, Strategy and Rollout are for container services.
	Services []provider.ServiceDeploySpec
	Strategy string
	Rollout  *provider.RolloutSpec

	// Source is for the others.
	Source provider.RenderedSource
}

// To finds who takes the verbs for a type of source on p. That p cannot run the
// source is provider.ErrUnsupportedSource: an engine counts only when p implements it
// and advertises its capability.
func To(p provider.Provider, source provider.SourceType) (Target, error) {
	switch source {
	case provider.SourceServices:
		if provider.HasCapability(p, provider.CapProvision) {
			return core{p}, nil
		}
	case provider.SourceHelm:
		if engine, ok := engineOf[provider.HelmEngine](p, provider.CapHelm); ok {
			return helm{unsupported{p, source}, engine}, nil
		}
	case provider.SourceManifests:
		if engine, ok := engineOf[provider.ManifestEngine](p, provider.CapManifests); ok {
			return manifests{unsupported{p, source}, engine}, nil
		}
	case provider.SourceArgoCD:
		if engine, ok := engineOf[provider.ArgoEngine](p, provider.CapArgoCD); ok {
			return argo{unsupported{p, source}, engine}, nil
		}
	}
	return nil, fmt.Errorf("%w: %s cannot deploy %q", provider.ErrUnsupportedSource, provider.TypeName(p), source)
}

func engineOf[T any](p provider.Provider, capability provider.Capability) (T, bool) {
	engine, ok := p.(T)
	return engine, ok && provider.HasCapability(p, capability)
}

// check holds what a request carries against the type of its target.
func check(source, want provider.SourceType, present bool) error {
	if source != want {
		return fmt.Errorf("%w: the source is of type %q, the workload of type %q", provider.ErrInvalid, source, want)
	}
	if !present {
		return fmt.Errorf("%w: the source of type %q is empty", provider.ErrInvalid, source)
	}
	return nil
}

// onlyForServices refuses what an engine would have to ignore.
func onlyForServices(source provider.SourceType, set map[string]bool) error {
	for _, field := range []string{"kind", "release id", "network", "rollout", "services", "strategy"} {
		if set[field] {
			return fmt.Errorf("%w: a source of type %q takes no %s", provider.ErrInvalid, source, field)
		}
	}
	return nil
}
