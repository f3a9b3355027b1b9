package instrument

import (
	"context"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

type helm struct{ c *core }

func (h helm) engine() provider.HelmEngine { return h.c.p.(provider.HelmEngine) }

func (h helm) HelmInstall(ctx context.Context, req provider.HelmInstallRequest) (*provider.ProvisionResult, error) {
	return call(ctx, h.c, "HelmInstall", req.InstanceID, func(ctx context.Context) (*provider.ProvisionResult, error) {
		return h.engine().HelmInstall(ctx, req)
	})
}

func (h helm) HelmUpgrade(ctx context.Context, req provider.HelmUpgradeRequest) (*provider.DeployResult, error) {
	return call(ctx, h.c, "HelmUpgrade", req.InstanceID, func(ctx context.Context) (*provider.DeployResult, error) {
		return h.engine().HelmUpgrade(ctx, req)
	})
}

func (h helm) HelmUninstall(ctx context.Context, instanceID id.ID) error {
	return run(ctx, h.c, "HelmUninstall", instanceID, func(ctx context.Context) error { return h.engine().HelmUninstall(ctx, instanceID) })
}

func (h helm) HelmStatus(ctx context.Context, instanceID id.ID) (*provider.InstanceStatus, error) {
	return call(ctx, h.c, "HelmStatus", instanceID, func(ctx context.Context) (*provider.InstanceStatus, error) {
		return h.engine().HelmStatus(ctx, instanceID)
	})
}

type manifests struct{ c *core }

func (m manifests) engine() provider.ManifestEngine { return m.c.p.(provider.ManifestEngine) }

func (m manifests) ApplyManifests(ctx context.Context, req provider.ManifestApplyRequest) (*provider.ProvisionResult, error) {
	return call(ctx, m.c, "ApplyManifests", req.InstanceID, func(ctx context.Context) (*provider.ProvisionResult, error) {
		return m.engine().ApplyManifests(ctx, req)
	})
}

func (m manifests) DeleteManifests(ctx context.Context, instanceID id.ID) error {
	return run(ctx, m.c, "DeleteManifests", instanceID, func(ctx context.Context) error { return m.engine().DeleteManifests(ctx, instanceID) })
}

func (m manifests) ManifestStatus(ctx context.Context, instanceID id.ID) (*provider.InstanceStatus, error) {
	return call(ctx, m.c, "ManifestStatus", instanceID, func(ctx context.Context) (*provider.InstanceStatus, error) {
		return m.engine().ManifestStatus(ctx, instanceID)
	})
}

type argo struct{ c *core }

func (a argo) engine() provider.ArgoEngine { return a.c.p.(provider.ArgoEngine) }

func (a argo) ArgoApply(ctx context.Context, req provider.ArgoApplyRequest) (*provider.ProvisionResult, error) {
	return call(ctx, a.c, "ArgoApply", req.InstanceID, func(ctx context.Context) (*provider.ProvisionResult, error) {
		return a.engine().ArgoApply(ctx, req)
	})
}

func (a argo) ArgoDelete(ctx context.Context, instanceID id.ID) error {
	return run(ctx, a.c, "ArgoDelete", instanceID, func(ctx context.Context) error { return a.engine().ArgoDelete(ctx, instanceID) })
}

func (a argo) ArgoStatus(ctx context.Context, instanceID id.ID) (*provider.InstanceStatus, error) {
	return call(ctx, a.c, "ArgoStatus", instanceID, func(ctx context.Context) (*provider.InstanceStatus, error) {
		return a.engine().ArgoStatus(ctx, instanceID)
	})
}
