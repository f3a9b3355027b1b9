package provider

import "github.com/berth-cloud/berth/id"

// WorkloadKind says what the replicas of a workload are to each other.
type WorkloadKind string

const (
	// KindDeployment is replicas of which one is like the other. All replicas
	// mount the same volumes, so a writable one that is not Shared allows one
	// replica only. It is what an empty kind means.
	KindDeployment WorkloadKind = "deployment"

	// KindStatefulSet is replicas with an index that stays: each has volumes of
	// its own, and gets them again after a deploy, a stop or a scale.
	KindStatefulSet WorkloadKind = "stateful_set"
)

// ProvisionRequest asks for an instance: groups of one shape, each of which holds
// every service of Services once. The number of groups is the main service's
// Resources.Replicas.
type ProvisionRequest struct {
	InstanceID id.ID         `json:"instance_id"`
	TenantID   string        `json:"tenant_id"`
	Name       string        `json:"name"`
	Kind       WorkloadKind  `json:"kind"`
	Services   []ServiceSpec `json:"services"`

	// Labels go on everything that is created, under the labels that the
	// provider sets itself.
	Labels map[string]string `json:"labels,omitempty"`

	// ReleaseID names the first release, for a later Rollback. When it is nil the
	// release takes the instance's id with the kind id.KindRelease.
	ReleaseID id.ID `json:"release_id,omitzero"`

	// Network is a network that the instance shares: the instances of one tenant
	// that name the same one reach each other by Name, and no other tenant's
	// instance reaches them, whatever network it names. Empty is a network of the
	// instance's own.
	Network string `json:"network,omitempty"`

	// Rollout bounds every rollout of the instance; nil is the defaults.
	Rollout *RolloutSpec `json:"rollout,omitempty"`
}

// InitialRelease is the id of the release that the request provisions.
func (r ProvisionRequest) InitialRelease() id.ID {
	if !r.ReleaseID.IsNil() {
		return r.ReleaseID
	}
	release, _ := r.InstanceID.WithKind(id.KindRelease) // the kind is good
	return release
}

// ProvisionResult is what is known once the first pass was made.
type ProvisionResult struct {
	// ProviderRef is the orchestrator's own handle of the instance, for people
	// and for telemetry. Nobody parses it.
	ProviderRef string `json:"provider_ref"`

	// ServiceRefs are the handles of the first replica's services, by the name of
	// the service. What does not exist yet is missing.
	ServiceRefs map[string]string `json:"service_refs,omitempty"`

	Endpoints []Endpoint        `json:"endpoints"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}
