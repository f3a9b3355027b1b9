package provider

import (
	"time"

	"github.com/berth-cloud/berth/id"
)

// DeployRequest is a change of one or more services of an instance to a new
// release. A service that Services does not list stays as it is, and the new release
// takes over its snapshot.
type DeployRequest struct {
	InstanceID id.ID `json:"instance_id"`

	// ReleaseID names the new release. The same id again with the same services
	// is a repetition, with others ErrConflict.
	ReleaseID id.ID `json:"release_id"`

	Services []ServiceDeploySpec `json:"services"`

	// Strategy is one of StrategyBlueGreen, StrategyRolling, StrategyRecreate and
	// StrategyCanary; empty is the provider's choice. One that the provider does
	// not advertise is ErrNotSupported.
	Strategy string `json:"strategy"`

	// Rollout replaces the bounds of the workload from here on; nil keeps them.
	Rollout *RolloutSpec `json:"rollout,omitempty"`
}

// DeployResult is what is known once the first pass was made.
type DeployResult struct {
	ProviderRef string `json:"provider_ref"`

	// Status is DeployAccepted or DeploySucceeded.
	Status string `json:"status"`

	// Endpoints, when not nil, are all endpoints of the instance and take the
	// place of those that were known before. Nil leaves them as they are.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

// What DeployResult.Status says.
const (
	// DeployAccepted means that the release is recorded and on its way; Status of
	// the instance tells how it ends.
	DeployAccepted = "accepted"

	// DeploySucceeded means that the release serves.
	DeploySucceeded = "succeeded"
)

// ServiceDeploySpec is what changes of one service. Nil keeps what the service
// has; anything else replaces all of it. An empty slice or map that is not nil replaces by
// nothing, and so does a pointer to a zero value; the JSON form tells empty from
// absent.
//
// Image is the exception: it is required, also where only a variable changes, and
// the image that the service has is a good value.
//
// What is not here is the shape of the group, fixed when it was provisioned: which
// services there are, their roles and what they depend on.
type ServiceDeploySpec struct {
	Name string `json:"name" validate:"required"`

	// Image is never kept: say it again where it stays the same.
	Image string `json:"image" validate:"required"`

	Env         map[string]string `json:"env,omitempty"`
	HealthCheck *HealthCheckSpec  `json:"health_check,omitempty"`

	// Command and Args are as in ServiceSpec: empty is the image's.
	Command []string `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`

	Ports []PortSpec `json:"ports,omitempty"`

	// Resources replaces the size; a zero Replicas keeps the number.
	Resources *ResourceSpec `json:"resources,omitempty"`

	Volumes     []VolumeSpec      `json:"volumes,omitempty"`
	Secrets     []SecretRef       `json:"secrets,omitempty"`
	ConfigFiles []ConfigFile      `json:"config_files,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Liveness    *HealthCheckSpec  `json:"liveness,omitempty"`
	Security    *SecuritySpec     `json:"security,omitempty"`
	User        *string           `json:"user,omitempty"`
	WorkingDir  *string           `json:"working_dir,omitempty"`
	Tmpfs       []TmpfsSpec       `json:"tmpfs,omitempty"`
	Init        *bool             `json:"init,omitempty"`
	StopGrace   *time.Duration    `json:"stop_grace,omitempty"`
	StopSignal  *string           `json:"stop_signal,omitempty"`
}

// ServiceSnapshot is one service in a release, which holds all services, those
// that its deploy did not list too. A field is nil when it was never recorded, and empty
// when it was recorded as nothing.
type ServiceSnapshot struct {
	Name        string            `json:"name"`
	Image       string            `json:"image"`
	Env         map[string]string `json:"env,omitempty"`
	HealthCheck *HealthCheckSpec  `json:"health_check,omitempty"`
	Command     []string          `json:"command,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Ports       []PortSpec        `json:"ports,omitempty"`
	Resources   *ResourceSpec     `json:"resources,omitempty"`
	Volumes     []VolumeSpec      `json:"volumes,omitempty"`
	Secrets     []SecretRef       `json:"secrets,omitempty"`
	ConfigFiles []ConfigFile      `json:"config_files,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Liveness    *HealthCheckSpec  `json:"liveness,omitempty"`
	Security    *SecuritySpec     `json:"security,omitempty"`
	User        *string           `json:"user,omitempty"`
	WorkingDir  *string           `json:"working_dir,omitempty"`
	Tmpfs       []TmpfsSpec       `json:"tmpfs,omitempty"`
	Init        *bool             `json:"init,omitempty"`
	StopGrace   *time.Duration    `json:"stop_grace,omitempty"`
	StopSignal  *string           `json:"stop_signal,omitempty"`
}
