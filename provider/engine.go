package provider

import (
	"context"

	"github.com/berth-cloud/berth/id"
)

// HelmEngine is what a provider also implements that installs charts. It counts
// only together with CapHelm. Deleting what is not there succeeds; the status of it is
// ErrNotFound; installing it again converges.
type HelmEngine interface {
	// HelmInstall makes the chart's release for an instance.
	HelmInstall(ctx context.Context, req HelmInstallRequest) (*ProvisionResult, error)

	// HelmUpgrade changes the release of an instance.
	HelmUpgrade(ctx context.Context, req HelmUpgradeRequest) (*DeployResult, error)

	// HelmUninstall removes the release of an instance.
	HelmUninstall(ctx context.Context, instanceID id.ID) error

	// HelmStatus reports the release, and whether its objects are ready.
	HelmStatus(ctx context.Context, instanceID id.ID) (*InstanceStatus, error)
}

// HelmInstallRequest asks for a new release of a chart.
type HelmInstallRequest struct {
	InstanceID id.ID        `json:"instance_id"`
	TenantID   string       `json:"tenant_id"`
	Namespace  string       `json:"namespace,omitempty"`
	Chart      RenderedHelm `json:"chart"`
}

// HelmUpgradeRequest asks for a change of a release.
type HelmUpgradeRequest struct {
	InstanceID id.ID        `json:"instance_id"`
	Namespace  string       `json:"namespace,omitempty"`
	Chart      RenderedHelm `json:"chart"`
}

// ManifestEngine is what a provider also implements that applies Kubernetes
// objects. It counts only together with CapManifests.
type ManifestEngine interface {
	// ApplyManifests applies every document with the instance's labels, removes
	// what an earlier call applied and this one does not name, and records the
	// set before it begins.
	ApplyManifests(ctx context.Context, req ManifestApplyRequest) (*ProvisionResult, error)

	// DeleteManifests removes the set, and succeeds when there is none.
	DeleteManifests(ctx context.Context, instanceID id.ID) error

	// ManifestStatus reports the worst object of the set.
	ManifestStatus(ctx context.Context, instanceID id.ID) (*InstanceStatus, error)
}

// ManifestApplyRequest is the objects of one instance.
type ManifestApplyRequest struct {
	InstanceID id.ID             `json:"instance_id"`
	TenantID   string            `json:"tenant_id"`
	Namespace  string            `json:"namespace,omitempty"`
	Manifests  RenderedManifests `json:"manifests"`
	Labels     map[string]string `json:"labels,omitempty"`
}

// ArgoEngine is what a provider also implements that manages Applications of Argo
// CD. It counts only together with CapArgoCD.
type ArgoEngine interface {
	// ArgoApply creates or changes the Application of an instance.
	ArgoApply(ctx context.Context, req ArgoApplyRequest) (*ProvisionResult, error)

	// ArgoDelete removes the Application and what it deployed, and succeeds when
	// there is none.
	ArgoDelete(ctx context.Context, instanceID id.ID) error

	// ArgoStatus reports sync and health of the Application as a state.
	ArgoStatus(ctx context.Context, instanceID id.ID) (*InstanceStatus, error)
}

// ArgoApplyRequest is the Application of one instance. It is named after the
// instance and lives in the namespace that the provider was given for Argo CD.
type ArgoApplyRequest struct {
	InstanceID id.ID             `json:"instance_id"`
	TenantID   string            `json:"tenant_id"`
	App        ArgoCDSource      `json:"app"`
	Labels     map[string]string `json:"labels,omitempty"`
}
