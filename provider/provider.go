package provider

import (
	"context"
	"io"

	"github.com/berth-cloud/berth/id"
)

// Provider drives one orchestrator: a Docker engine, a Kubernetes cluster, a
// Nomad region. The package documentation numbers the rules that every
// implementation keeps.
//
// All methods may be called from many goroutines at once. All of them end soon
// after ctx does, and a call that ended so may be repeated. What a provider
// cannot do is ErrNotSupported, and an instance that it does not know is ErrNotFound, from every method
// but Deprovision.
type Provider interface {
	// Info says which orchestrator this is. It makes no call.
	Info() ProviderInfo

	// Capabilities lists what works. It makes no call, and the slice is the
	// caller's.
	Capabilities() []Capability

	// Provision records what is wanted, makes the first pass towards it and
	// returns; ready it is when Status says so. The same request again converges
	// on what is already recorded; another request under the same InstanceID is
	// ErrConflict. A request that breaks a rule is ErrInvalid and has no effect.
	Provision(ctx context.Context, req ProvisionRequest) (*ProvisionResult, error)

	// Deprovision removes everything that carries the instance's mark, its
	// volumes and its record included. It succeeds when there is nothing.
	Deprovision(ctx context.Context, instanceID id.ID) error

	// Start starts a stopped instance with the replicas and data it had. It
	// succeeds on one that runs.
	Start(ctx context.Context, instanceID id.ID) error

	// Stop ends the containers, each within its stop grace, and keeps volumes,
	// identities and the record. It succeeds on one that is stopped.
	Stop(ctx context.Context, instanceID id.ID) error

	// Restart replaces or restarts every container of the instance, without a
	// gap in service where the strategy allows. A stopped instance is started.
	Restart(ctx context.Context, instanceID id.ID) error

	// Status reports what is observed now, not what was last asked for.
	Status(ctx context.Context, instanceID id.ID) (*InstanceStatus, error)

	// Deploy records a new release, makes the first pass towards it and returns.
	// Unlisted services stay as they are; see ServiceDeploySpec for listed ones.
	// When the release does not become ready the previous one keeps serving.
	// Without the instance's record it is ErrNoRecord, while a rollout of another
	// release is under way ErrBusy, and a service that the instance does not have
	// is ErrInvalid. The same request again, ReleaseID included, converges.
	Deploy(ctx context.Context, req DeployRequest) (*DeployResult, error)

	// Rollback makes an earlier release of this instance the wanted one, all of
	// it. A nil releaseID means the last one that served before the one that was
	// asked for last: after a Deploy that failed, the one that serves. A release
	// that this instance never had is ErrNotFound, one that never served ErrConflict.
	Rollback(ctx context.Context, instanceID id.ID, releaseID id.ID) error

	// Scale changes the size of the main service. A zero field means unchanged;
	// Stop is how an instance runs nothing.
	Scale(ctx context.Context, instanceID id.ID, spec ResourceSpec) error

	// Resources reports what the instance uses, summed over its containers.
	Resources(ctx context.Context, instanceID id.ID) (*ResourceUsage, error)

	// Logs streams LogLines, one JSON object a line; DecodeLogs reads them. The
	// stream ends with ctx, with Close, or without Follow at its present end.
	Logs(ctx context.Context, instanceID id.ID, opts LogOptions) (io.ReadCloser, error)

	// Exec runs a command in a running container and waits for it. That the
	// command failed is in the result; an error means it did not run to its end.
	Exec(ctx context.Context, instanceID id.ID, cmd ExecRequest) (*ExecResult, error)
}

// ProviderInfo says what a provider is and where.
type ProviderInfo struct {
	// Name is the type of orchestrator, one of few: "docker", "kubernetes",
	// "nomad". Telemetry carries it; the name in a Registry is another thing.
	Name    string `json:"name"`
	Version string `json:"version"`
	Region  string `json:"region"`

	// Location is where the region is, nil when nobody knows.
	Location *Location `json:"location,omitempty"`
}

// Location is a place on the globe. Latitude and Longitude are in degrees.
type Location struct {
	Latitude  float64 `json:"latitude,omitempty"`
	Longitude float64 `json:"longitude,omitempty"`
	Country   string  `json:"country,omitempty"`
	City      string  `json:"city,omitempty"`
}

// unknownType is the telemetry name of a provider that does not name itself.
const unknownType = "unknown"

// TypeName is the name under which telemetry counts p: its type, of which there
// are few, and never its registry key, of which there is one for every connection. It
// is "unknown" for nil and for a provider without a name.
func TypeName(p Provider) string {
	if p == nil {
		return unknownType
	}
	if name := p.Info().Name; name != "" {
		return name
	}
	return unknownType
}
