package dispatch

import (
	"context"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

type helm struct {
	unsupported
	engine provider.HelmEngine
}

var _ Target = helm{}

func (h helm) Provision(ctx context.Context, req ProvisionRequest) (*provider.ProvisionResult, error) {
	if err := h.provision(req, req.Source.Helm != nil); err != nil {
		return nil, err
	}
	chart := *req.Source.Helm
	return h.engine.HelmInstall(ctx, provider.HelmInstallRequest{
		InstanceID: req.InstanceID, TenantID: req.TenantID, Namespace: chart.Namespace, Chart: chart,
	})
}

func (h helm) Deploy(ctx context.Context, req DeployRequest) (*provider.DeployResult, error) {
	if err := h.deploy(req, req.Source.Helm != nil); err != nil {
		return nil, err
	}
	chart := *req.Source.Helm
	return h.engine.HelmUpgrade(ctx, provider.HelmUpgradeRequest{InstanceID: req.InstanceID, Namespace: chart.Namespace, Chart: chart})
}

func (h helm) Status(ctx context.Context, instanceID id.ID) (*provider.InstanceStatus, error) {
	return h.engine.HelmStatus(ctx, instanceID)
}

func (h helm) Deprovision(ctx context.Context, instanceID id.ID) error {
	return h.engine.HelmUninstall(ctx, instanceID)
}

type manifests struct {
	unsupported
	engine provider.ManifestEngine
}

var _ Target = manifests{}

func (m manifests) Provision(ctx context.Context, req ProvisionRequest) (*provider.ProvisionResult, error) {
	if err := m.provision(req, req.Source.Manifests != nil); err != nil {
		return nil, err
	}
	return m.engine.ApplyManifests(ctx, provider.ManifestApplyRequest{
		InstanceID: req.InstanceID, TenantID: req.TenantID, Manifests: *req.Source.Manifests, Labels: req.Labels,
	})
}

func (m manifests) Deploy(ctx context.Context, req DeployRequest) (*provider.DeployResult, error) {
	if err := m.deploy(req, req.Source.Manifests != nil); err != nil {
		return nil, err
	}
	return deployed(m.engine.ApplyManifests(ctx, provider.ManifestApplyRequest{
		InstanceID: req.InstanceID, TenantID: req.TenantID, Manifests: *req.Source.Manifests, Labels: req.Labels,
	}))
}

func (m manifests) Status(ctx context.Context, instanceID id.ID) (*provider.InstanceStatus, error) {
	return m.engine.ManifestStatus(ctx, instanceID)
}

func (m manifests) Deprovision(ctx context.Context, instanceID id.ID) error {
	return m.engine.DeleteManifests(ctx, instanceID)
}

type argo struct {
	unsupported
	engine provider.ArgoEngine
}

var _ Target = argo{}

func (a argo) Provision(ctx context.Context, req ProvisionRequest) (*provider.ProvisionResult, error) {
	if err := a.provision(req, req.Source.ArgoCD != nil); err != nil {
		return nil, err
	}
	return a.engine.ArgoApply(ctx, provider.ArgoApplyRequest{
		InstanceID: req.InstanceID, TenantID: req.TenantID, App: *req.Source.ArgoCD, Labels: req.Labels,
	})
}

func (a argo) Deploy(ctx context.Context, req DeployRequest) (*provider.DeployResult, error) {
	if err := a.deploy(req, req.Source.ArgoCD != nil); err != nil {
		return nil, err
	}
	return deployed(a.engine.ArgoApply(ctx, provider.ArgoApplyRequest{
		InstanceID: req.InstanceID, TenantID: req.TenantID, App: *req.Source.ArgoCD, Labels: req.Labels,
	}))
}

func (a argo) Status(ctx context.Context, instanceID id.ID) (*provider.InstanceStatus, error) {
	return a.engine.ArgoStatus(ctx, instanceID)
}

func (a argo) Deprovision(ctx context.Context, instanceID id.ID) error {
	return a.engine.ArgoDelete(ctx, instanceID)
}
