package provider

import "time"

// ServiceRole is the part that a service plays in its group.
type ServiceRole string

const (
	// RoleMain is the service that the group is there for. Every workload has
	// exactly one. It is what an empty role means.
	RoleMain ServiceRole = "main"

	// RoleSidecar runs beside main for as long. It starts after main, unless main
	// depends on it.
	RoleSidecar ServiceRole = "sidecar"

	// RoleInit runs to its end, with exit code 0, before main and sidecars of its
	// replica start. Inits run one after the other, in the order of DependsOn and
	// then of the list. One that fails fails the replica.
	RoleInit ServiceRole = "init"
)

// ServiceSpec is one member of a group: one container in each replica.
type ServiceSpec struct {
	// Name is what the other members, and with a shared network other
	// instances, resolve. It is a DNS label of at most MaxServiceNameLength characters, and in a
	// stateful set without a name of its own that of main has at most
	// MaxStatefulNameLength.
	Name string `json:"name" validate:"required"`

	// Image is a reference such as "registry.example/shop/web:1.4" or one with a
	// digest.
	Image string `json:"image" validate:"required"`

	// Role is RoleMain when empty.
	Role ServiceRole `json:"role,omitempty"`

	// DependsOn names members that must be ready (an init: have ended well)
	// before this one starts. An init may depend on inits only.
	DependsOn []string `json:"depends_on,omitempty"`

	// Resources is the size of one container. Replicas counts here only on main.
	Resources ResourceSpec `json:"resources"`

	// Env is added to the variables of the image. Secrets do not belong here.
	Env map[string]string `json:"env,omitempty"`

	Ports   []PortSpec   `json:"ports,omitempty"`
	Volumes []VolumeSpec `json:"volumes,omitempty"`

	// HealthCheck decides when the container is ready. Without one, or with a
	// zero one, a TCP connection to the first port does, and without a port that
	// the container stays up for StableWindow.
	HealthCheck *HealthCheckSpec `json:"health_check,omitempty"`

	// Secrets are resolved from the vault when a container is created.
	Secrets []SecretRef `json:"secrets,omitempty"`

	// ConfigFiles are written before the container starts.
	ConfigFiles []ConfigFile `json:"config_files,omitempty"`

	// Annotations go on the container alone, as labels do on everything.
	Annotations map[string]string `json:"annotations,omitempty"`

	// Command and Args replace the entry point and the command of the image. Nil
	// or empty leaves the image's.
	Command []string `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`

	// Liveness restarts the container in place when it fails. Nil or zero is
	// none.
	Liveness *HealthCheckSpec `json:"liveness,omitempty"`

	// Security loosens or tightens the defaults; nil is the defaults.
	Security *SecuritySpec `json:"security,omitempty"`

	// User is "uid", "uid:gid" or a name from the image; empty is the image's.
	User string `json:"user,omitempty"`

	// WorkingDir is absolute; empty is the image's.
	WorkingDir string `json:"working_dir,omitempty"`

	// Tmpfs are directories in memory, gone with the container.
	Tmpfs []TmpfsSpec `json:"tmpfs,omitempty"`

	// Init runs a process as the container's first that forwards signals and
	// reaps children.
	Init bool `json:"init,omitempty"`

	// StopGrace is the time between the stop signal and the kill. Zero is
	// DefaultStopGrace.
	StopGrace time.Duration `json:"stop_grace,omitempty"`

	// StopSignal is a name such as "SIGQUIT"; empty is the image's, or SIGTERM.
	StopSignal string `json:"stop_signal,omitempty"`
}

// DefaultStopGrace is how long a container may take to end after its stop signal.
const DefaultStopGrace = 10 * time.Second

// EffectiveRole is the role with the default filled in.
func (s ServiceSpec) EffectiveRole() ServiceRole {
	if s.Role == "" {
		return RoleMain
	}
	return s.Role
}
