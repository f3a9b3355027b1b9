package provider

import "slices"

// Capability is something that not every provider can do. A provider lists one
// only when it works, and answers ErrNotSupported for what needs one that it
// does not list.
type Capability string

const (
	// CapProvision is Provision and Deprovision of container services.
	CapProvision Capability = "provision"

	// CapDeploy is Deploy and Rollback of container services.
	CapDeploy Capability = "deploy"

	// CapScale is Scale.
	CapScale Capability = "scale"

	// CapLogs is Logs.
	CapLogs Capability = "logs"

	// CapExec is Exec.
	CapExec Capability = "exec"

	// CapVolumes is volumes that outlive their containers.
	CapVolumes Capability = "volumes"

	// CapKeptVolumes is VolumeSpec.IDs and VolumeKeeper.
	CapKeptVolumes Capability = "volumes:kept"

	// CapGPU is ResourceSpec.GPU.
	CapGPU Capability = "gpu"

	// CapBlueGreen is StrategyBlueGreen.
	CapBlueGreen Capability = "strategy:blue-green"

	// CapCanary is StrategyCanary.
	CapCanary Capability = "strategy:canary"

	// CapRolling is StrategyRolling.
	CapRolling Capability = "strategy:rolling"

	// CapAutoScale is changing the number of replicas by load.
	CapAutoScale Capability = "autoscale"

	// CapCustomDomains is PortSpec.Domains.
	CapCustomDomains Capability = "custom-domains"

	// CapTLS is PortSpec.TLS.
	CapTLS Capability = "tls"

	// CapHelm is HelmEngine.
	CapHelm Capability = "source:helm"

	// CapManifests is ManifestEngine.
	CapManifests Capability = "source:manifests"

	// CapArgoCD is ArgoEngine.
	CapArgoCD Capability = "source:argocd"
)

// HasCapability reports whether p lists the capability; nil has none.
func HasCapability(p Provider, capability Capability) bool {
	return p != nil && slices.Contains(p.Capabilities(), capability)
}
