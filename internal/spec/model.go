package spec

import (
	"slices"
	"time"
)

// App is one app.yaml after validation: every default is filled in.
type App struct {
	Name     string             `json:"name"`
	Services map[string]Service `json:"services"`
}

// Service is one service of an app, complete and valid. Its JSON form is what
// the store keeps and what releases record.
type Service struct {
	Name    string   `json:"name"` // short name, unique in the app
	Image   string   `json:"image"`
	Command []string `json:"command,omitempty"` // replaces the image's command
	Env     []EnvVar `json:"env,omitempty"`     // sorted by name
	Port    int      `json:"port,omitempty"`    // TCP port it listens on; 0: a worker without one
	Domains []string `json:"domains,omitempty"` // hosts routed to it, lower case, sorted
	Path    string   `json:"path,omitempty"`    // path prefix of the route; "" means "/"

	Replicas int      `json:"replicas"`
	Strategy Strategy `json:"strategy"` // resolved: never empty
	// MaxSurge and MaxUnavailable bound a rolling change; "" is the default of 1
	// and of 0.
	MaxSurge       Amount `json:"max_surge,omitempty"`
	MaxUnavailable Amount `json:"max_unavailable,omitempty"`

	Readiness    *Probe        `json:"readiness,omitempty"`
	Liveness     *Probe        `json:"liveness,omitempty"`
	ReadyTimeout time.Duration `json:"ready_timeout"`
	StableWindow time.Duration `json:"stable_window,omitempty"`
	DrainTimeout time.Duration `json:"drain_timeout"`
	StopGrace    time.Duration `json:"stop_grace"`
	HoldTimeout  time.Duration `json:"hold_timeout"`
	// KeepPrevious is how long the previous release is held running after a
	// cutover as an instant rollback; 0 removes it once drained.
	KeepPrevious time.Duration `json:"keep_previous,omitempty"`

	Resources Resources         `json:"resources,omitzero"`
	Volumes   []Volume          `json:"volumes,omitempty"`
	Publish   []PublishedPort   `json:"publish,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`

	// Process is how the main container runs.
	Process

	// Inits run to their end, one after the other, before anything else of a
	// replica starts; Sidecars run beside its main container.
	Inits    []Member `json:"inits,omitempty"`
	Sidecars []Member `json:"sidecars,omitempty"`
	// SidecarsFirst are the names of sidecars that the main container waits for.
	SidecarsFirst []string `json:"sidecars_first,omitempty"`

	// Restart says what follows the end of the main container; "" is [RestartAlways].
	Restart Restart `json:"restart,omitempty"`
	// CompletionTimeout bounds a service that runs to completion; 0 is the default.
	CompletionTimeout time.Duration `json:"completion_timeout,omitempty"`

	// DependsOn are services of the app that have to be there first.
	DependsOn []Dependency `json:"depends_on,omitempty"`
	// DependsTimeout bounds that wait; 0 is the default.
	DependsTimeout time.Duration `json:"depends_timeout,omitempty"`

	// Alias is the name that other containers of the network resolve to it; ""
	// is the service's own.
	Alias string `json:"alias,omitempty"`
	// Stateful gives every replica volumes and a name of its own.
	Stateful bool `json:"stateful,omitempty"`

	// Placement says where the app runs; it is the same in all of its services.
	Placement Placement `json:"placement,omitzero"`
}

// Process is how a container runs beside its image, command and environment.
type Process struct {
	Entrypoint   []string `json:"entrypoint,omitempty"` // replaces the image's entrypoint
	User         string   `json:"user,omitempty"`       // "" is the image's
	WorkingDir   string   `json:"working_dir,omitempty"`
	StopSignal   string   `json:"stop_signal,omitempty"` // "" is the image's
	Init         bool     `json:"init,omitempty"`        // a process 1 that reaps and passes signals on
	ReadOnlyRoot bool     `json:"read_only_root,omitempty"`
	// Hardened drops every kernel capability but CapAdd and forbids to gain
	// rights by set-user-id files.
	Hardened bool     `json:"hardened,omitempty"`
	CapAdd   []string `json:"cap_add,omitempty"` // without CAP_, sorted
	Tmpfs    []Tmpfs  `json:"tmpfs,omitempty"`
	Files    []File   `json:"files,omitempty"` // sorted by path
}

// Tmpfs is a directory in memory.
type Tmpfs struct {
	Path      string `json:"path"`
	SizeBytes int64  `json:"size_bytes,omitempty"` // 0: half of the machine's memory
}

// File is a file put into a container before it starts. Its content is a
// secret of the vault, never part of a spec.
type File struct {
	Path   string    `json:"path"` // absolute; its directory is not the root
	Secret SecretRef `json:"secret"`
}

// SecretRef names a value in the vault.
type SecretRef struct {
	Key string `json:"key"`
	// Optional says that the container may start without it.
	Optional bool `json:"optional,omitempty"`
	// Version is which one a release runs with; 0 in a spec that is desired.
	Version int64 `json:"version,omitempty"`
}

// Role is what a container is in its group.
type Role string

// The roles. The main container has none.
const (
	RoleMain    Role = ""
	RoleInit    Role = "init"
	RoleSidecar Role = "sidecar"
)

// Member is one container of a replica as the spec describes it.
type Member struct {
	Name string `json:"name"`
	Role Role   `json:"role,omitempty"`
	// DependsOn are members that this one starts after: an init after inits, a
	// sidecar after sidecars. It waits until they are ready.
	DependsOn []string `json:"depends_on,omitempty"`

	Image     string          `json:"image"`
	Command   []string        `json:"command,omitempty"`
	Env       []EnvVar        `json:"env,omitempty"`
	Port      int             `json:"port,omitempty"`
	Readiness *Probe          `json:"readiness,omitempty"`
	Liveness  *Probe          `json:"liveness,omitempty"`
	Resources Resources       `json:"resources,omitzero"`
	Volumes   []Volume        `json:"volumes,omitempty"`
	Publish   []PublishedPort `json:"publish,omitempty"`
	// Labels are on this container alone.
	Labels map[string]string `json:"labels,omitempty"`
	Process
}

// Restart says what follows the end of a service's main container.
type Restart string

// The policies. Under the last two a service runs to completion: an exit with
// code 0 is its success.
const (
	RestartAlways    Restart = ""
	RestartOnFailure Restart = "on-failure"
	RestartNo        Restart = "no"
)

// Completes reports whether the service runs to completion.
func (s *Service) Completes() bool { return s.Restart != RestartAlways }

// Dependency is a service of the same app that has to be there first.
type Dependency struct {
	Service   string        `json:"service"` // short name
	Condition DependsStatus `json:"condition"`
}

// DependsStatus is how far a dependency has to be.
type DependsStatus string

// What can be waited for.
const (
	DependsStarted   DependsStatus = "started"   // a container of it runs
	DependsReady     DependsStatus = "ready"     // a replica of its desired release serves
	DependsCompleted DependsStatus = "completed" // it ran to completion
)

// EnvVar is one environment variable; the value is any UTF-8 text without NUL.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Secret is where the value comes from instead; the zero value is none.
	Secret SecretRef `json:"secret,omitzero"`
}

// Strategy is how a change of a service is carried out.
type Strategy string

// The strategies.
const (
	BlueGreen Strategy = "blue-green" // all new replicas beside the old ones, then one switch
	Rolling   Strategy = "rolling"    // a few replicas at a time
	Recreate  Strategy = "recreate"   // the old replicas stop before the new ones start
)

// Probe is a declared probe. It asks by a command when Exec is set, by the gRPC
// health protocol when GRPC is, by HTTP when Path is, else by connecting.
type Probe struct {
	Path           string        `json:"path"`
	Port           int           `json:"port,omitempty"` // 0: the container's port
	Interval       time.Duration `json:"interval"`
	Timeout        time.Duration `json:"timeout"`
	ExpectedStatus string        `json:"expected_status"` // "200-299,304"
	Exec           []string      `json:"exec,omitempty"`  // run in the container; exit code 0 passes
	GRPC           bool          `json:"grpc,omitempty"`
	GRPCService    string        `json:"grpc_service,omitempty"`
	// Failures in a row of a liveness probe restart the container; 0 is the default.
	Failures int `json:"failures,omitempty"`
}

// Resources are limits; zero means none.
type Resources struct {
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	MilliCPU    int64 `json:"milli_cpu,omitempty"`
	Pids        int64 `json:"pids,omitempty"` // processes and threads; zero is the engine's default
}

// Volume is a named volume or an allowed host path in every replica.
type Volume struct {
	Name     string `json:"name,omitempty"` // exclusive with HostPath
	HostPath string `json:"host_path,omitempty"`
	Path     string `json:"path"`
	ReadOnly bool   `json:"read_only,omitempty"`
	// Shared says that the program bears several writers at once.
	Shared bool `json:"shared,omitempty"`
	// IDs are volumes that belong to a tenant and not to the service, one for each
	// replica of a stateful one; they stand in for the volume that Name would be.
	IDs []string `json:"ids,omitempty"`
}

// Exclusive reports whether two running containers must never hold the volume.
func (v Volume) Exclusive() bool { return !v.ReadOnly && !v.Shared }

// PublishedPort opens a port on the host, on loopback unless Public.
type PublishedPort struct {
	Port     int    `json:"port"`      // in the container
	HostPort int    `json:"host_port"` // on the host; 0 lets the engine choose
	Public   bool   `json:"public,omitempty"`
	Protocol string `json:"protocol,omitempty"` // "udp"; "" is TCP
	Address  string `json:"address,omitempty"`  // of the host, in place of what Public says
}

// Pinned reports whether the port of the host is a given one, which one
// container can hold at a time.
func (p PublishedPort) Pinned() bool { return p.HostPort != 0 }

// Exclusive reports whether two releases of the service cannot run at once:
// it writes to a volume of its own, or it holds a port of the host. A stateful
// service writes to a volume per replica: see [Service.ReplicaExclusive].
func (s *Service) Exclusive() bool {
	for _, m := range s.Members() {
		if slices.ContainsFunc(m.Publish, PublishedPort.Pinned) {
			return true
		}
	}
	return !s.Stateful && s.writes()
}

// ReplicaExclusive reports whether an old and a new replica of one index
// cannot run at once.
func (s *Service) ReplicaExclusive() bool { return s.Stateful && s.writes() }

func (s *Service) writes() bool {
	return slices.ContainsFunc(s.Members(), func(m Member) bool { return slices.ContainsFunc(m.Volumes, Volume.Exclusive) })
}

// Defaults of what app.yaml leaves out.
const (
	DefaultReadyTimeout  = 60 * time.Second
	DefaultDrainTimeout  = 30 * time.Second
	DefaultStopGrace     = 10 * time.Second
	DefaultHoldTimeout   = 10 * time.Second
	DefaultProbeInterval = 2 * time.Second
	DefaultProbeTimeout  = 2 * time.Second
	DefaultExpected      = "200-299"

	DefaultLivenessInterval  = 30 * time.Second
	DefaultLivenessFailures  = 3
	DefaultCompletionTimeout = time.Hour
	DefaultDependsTimeout    = 5 * time.Minute
)
