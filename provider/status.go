package provider

import (
	"time"

	"github.com/berth-cloud/berth/id"
)

// InstanceState is where an instance, a service or a replica is in its life.
type InstanceState string

const (
	// StateProvisioning means that what it needs is being made.
	StateProvisioning InstanceState = "provisioning"

	// StateStarting means that containers run, or will in a moment, and not all
	// of them are ready.
	StateStarting InstanceState = "starting"

	// StateRunning means that it runs and was ready when last probed.
	StateRunning InstanceState = "running"

	// StateStopping means that containers were told to end.
	StateStopping InstanceState = "stopping"

	// StateStopped means that nothing runs, as was asked for. An init that ended
	// well is stopped too.
	StateStopped InstanceState = "stopped"

	// StateFailed means that it is not as was asked for and will not become so by
	// waiting.
	StateFailed InstanceState = "failed"

	// StateDestroying means that Deprovision has begun.
	StateDestroying InstanceState = "destroying"

	// StateDestroyed means that nothing is left. Status answers ErrNotFound then;
	// the state is for those who keep a history.
	StateDestroyed InstanceState = "destroyed"
)

// InstanceStatus is what was observed when it was asked for.
//
// State, Ready, Reason and Message are about the release that was last asked for.
// Without a rollout State is that of the worst service, in the order failed,
// destroying, provisioning, starting, stopping, stopped, running; inits that ended
// well do not count. During a rollout it is StateStarting with ReasonRollingOut;
// once one has failed it is StateFailed with ReasonRolloutFailed until the next
// Deploy or Rollback, also when the release before it serves. Available tells that.
type InstanceStatus struct {
	State InstanceState `json:"state"`

	// Ready means that every service that should run is ready in every replica,
	// all of the release that was last asked for.
	Ready bool `json:"ready"`

	// Restarts is the sum over the services.
	Restarts int `json:"restarts"`

	// StartedAt is when the oldest running container started.
	StartedAt *time.Time `json:"started_at,omitempty"`

	// Message is for people.
	Message string `json:"message,omitempty"`

	// Endpoints are all ways in, sorted by service, port and replica. In a group
	// the first may be a sidecar's: the main service's are those whose ServiceName
	// is its name; see Endpoint.
	Endpoints []Endpoint `json:"endpoints"`

	// Services are by the name of the service. They are of the release that
	// serves, and until there is one of the release that was asked for.
	Services map[string]ServiceStatus `json:"services,omitempty"`
	Metadata map[string]string        `json:"metadata,omitempty"`

	// Reason is for programs, and empty when nothing is amiss.
	Reason Reason `json:"reason,omitempty"`

	// Available means that at least one group is ready, of whichever release.
	Available bool `json:"available"`

	// ReleaseID is the release that serves, nil before the first one does.
	ReleaseID id.ID `json:"release_id,omitzero"`

	// TargetReleaseID is the release that was last asked for.
	TargetReleaseID id.ID `json:"target_release_id,omitzero"`
}

// Endpoint finds a way in by the service that answers there; there may be several,
// by port and replica, and this is the first.
func (s *InstanceStatus) Endpoint(service string) (Endpoint, bool) {
	for _, e := range s.Endpoints {
		if e.ServiceName == service {
			return e, true
		}
	}
	return Endpoint{}, false
}

// ServiceStatus is one service over all replicas: the worst of them, as in
// InstanceStatus.
type ServiceStatus struct {
	State InstanceState `json:"state"`

	// Ready means ready in every replica; an init is ready once it ended well.
	Ready bool `json:"ready"`

	// Restarts is the sum over the replicas.
	Restarts int `json:"restarts"`

	// ProviderRef is the handle of the first replica's container.
	ProviderRef string `json:"provider_ref,omitempty"`

	// Message is for people: the exit code and the last lines of a log, the URL
	// that did not answer. It holds no secret.
	Message string `json:"message,omitempty"`

	Reason Reason `json:"reason,omitempty"`

	// Replicas are sorted by index.
	Replicas []ReplicaStatus `json:"replicas,omitempty"`
}

// ReplicaStatus is one container.
type ReplicaStatus struct {
	// Replica is the index, from 0.
	Replica int `json:"replica"`

	State InstanceState `json:"state"`
	Ready bool          `json:"ready"`

	// Restarts counts since the container was created.
	Restarts int `json:"restarts"`

	ProviderRef string     `json:"provider_ref,omitempty"`
	Reason      Reason     `json:"reason,omitempty"`
	Message     string     `json:"message,omitempty"`
	StartedAt   *time.Time `json:"started_at,omitempty"`

	// ExitCode is set once the container has ended.
	ExitCode *int `json:"exit_code,omitempty"`
}

// Reason says in one word, for programs, why something is not ready. Drivers use
// these and add none of their own.
type Reason string

const (
	// ReasonPulling means that the image is on its way.
	ReasonPulling Reason = "Pulling"
	// ReasonImageUnavailable means that there is no such image, or no right to it.
	ReasonImageUnavailable Reason = "ImageUnavailable"
	// ReasonWaitingForDependency means that a member that it depends on is not
	// ready.
	ReasonWaitingForDependency Reason = "WaitingForDependency"
	// ReasonWaitingForReady means that it runs and no probe has succeeded yet.
	ReasonWaitingForReady Reason = "WaitingForReady"
	// ReasonUnhealthy means that probes fail that succeeded before.
	ReasonUnhealthy Reason = "Unhealthy"
	// ReasonReadyTimeout means that it was not ready in time.
	ReasonReadyTimeout Reason = "ReadyTimeout"
	// ReasonInitFailed means that an init ended with another exit code than 0.
	ReasonInitFailed Reason = "InitFailed"
	// ReasonExited means that a container ended that should run.
	ReasonExited Reason = "Exited"
	// ReasonCrashLoop means that it keeps ending and is restarted at growing
	// intervals.
	ReasonCrashLoop Reason = "CrashLoop"
	// ReasonOutOfMemory means that it was killed at its memory limit.
	ReasonOutOfMemory Reason = "OutOfMemory"
	// ReasonStartFailed means that the orchestrator could not create or start it.
	ReasonStartFailed Reason = "StartFailed"
	// ReasonSecretMissing means that a secret that is not optional has no value.
	ReasonSecretMissing Reason = "SecretMissing"
	// ReasonNoCapacity means that there is no room for it.
	ReasonNoCapacity Reason = "NoCapacity"
	// ReasonVolumeInUse means that a running container of another instance may write
	// a volume of VolumeSpec.IDs that it is to have.
	ReasonVolumeInUse Reason = "VolumeInUse"
	// ReasonRollingOut means that another release is on its way.
	ReasonRollingOut Reason = "RollingOut"
	// ReasonRolloutFailed means that a release failed and the one before it
	// serves.
	ReasonRolloutFailed Reason = "RolloutFailed"
	// ReasonStopped means that it was stopped on purpose.
	ReasonStopped Reason = "Stopped"
	// ReasonMissing means that a container is gone that nobody asked to remove.
	ReasonMissing Reason = "Missing"
	// ReasonUnavailable means that the orchestrator could not say.
	ReasonUnavailable Reason = "Unavailable"
)
