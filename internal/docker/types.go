package docker

import (
	"net/netip"
	"time"
)

// EngineInfo describes an engine.
type EngineInfo struct {
	ID           string // the engine's own id, stable over restarts
	Version      string // "20.10.24"
	APIVersion   string // the negotiated API version, "1.41"
	Architecture string // as in image manifests: "amd64", "arm64"
	OS           string // "linux"
	LiveRestore  bool   // containers survive a restart of the engine
	CPUs         int
	MemoryBytes  int64
	RootDir      string // where images and volumes live
}

// RestartPolicy says what the engine does when a container ends by itself.
type RestartPolicy string

// The policies Berth uses.
const (
	RestartNo            RestartPolicy = "no"
	RestartUnlessStopped RestartPolicy = "unless-stopped"
)

// ContainerSpec is everything that Berth sets on a container.
type ContainerSpec struct {
	Name       string
	Image      string // reference or image id; must be present on the engine
	Entrypoint []string
	Command    []string // replaces the image's command when not nil
	Env        []EnvVar // passed byte for byte, in order
	WorkingDir string
	User       string
	Labels     map[string]string
	StopSignal string
	Init       bool
	Hostname   string // "" lets the engine choose

	// CapDrop and CapAdd are kernel capabilities without CAP_, "ALL" for all.
	CapDrop, CapAdd []string
	// NoNewPrivileges keeps programs from gaining rights by set-user-id files.
	NoNewPrivileges bool
	ReadOnlyRoot    bool // only mounts and tmpfs can be written to

	Network NetworkAttachment
	// Hosts are names that resolve to fixed addresses inside the container.
	Hosts  []HostEntry
	Ports  []PortBinding // published on the host
	Mounts []Mount
	// VolumeLabels are the labels of volumes that are gone when the container is
	// made and that the engine makes again, by name.
	VolumeLabels map[string]map[string]string
	Tmpfs        map[string]string // path -> mount options
	Resources    Resources
	Restart      RestartPolicy
	LogMaxMiB    int // size of one log file; three are kept; 0 means 10
}

// EnvVar is one environment variable. The value may be any UTF-8 without NUL;
// the engine's API cannot carry other bytes, and they are ErrInvalid.
type EnvVar struct{ Name, Value string }

// NetworkAttachment joins a container to one network at a fixed address.
type NetworkAttachment struct {
	Network string // name or id
	Address netip.Addr
	Aliases []string // DNS names on that network
}

// HostEntry is a name that a container resolves without asking anybody.
type HostEntry struct {
	Name    string
	Address netip.Addr
}

// PortBinding publishes a container port on the host.
type PortBinding struct {
	HostIP        string // "127.0.0.1" or "0.0.0.0"; none is ErrInvalid
	HostPort      int    // 0 in a spec lets the engine choose
	ContainerPort int
	Protocol      string // "tcp" or "udp"
}

// Mount attaches a volume or a host path.
type Mount struct {
	Volume   string // named volume; exclusive with HostPath
	HostPath string
	Path     string // where it appears in the container
	ReadOnly bool
}

// Resources are the limits of a container; zero means none.
type Resources struct {
	MemoryBytes int64 // a memory limit always sets the swap limit equal
	NanoCPUs    int64 // 1e9 is one core
	PidsLimit   int64
}

// ContainerUpdate changes a container in place; nil keeps.
type ContainerUpdate struct {
	Restart   *RestartPolicy
	Resources *Resources
}

// Status is the engine's word for where a container is in its life.
type Status string

// The statuses an engine reports.
const (
	StatusCreated    Status = "created"
	StatusRunning    Status = "running"
	StatusPaused     Status = "paused"
	StatusRestarting Status = "restarting"
	StatusRemoving   Status = "removing"
	StatusExited     Status = "exited"
	StatusDead       Status = "dead"
)

// ContainerState is one container as observed. A state from Runtime.List has
// Full false and lacks Exit, RestartCount, Restart, Started, Ports and
// Resources; its Image is the image id once the reference names another image,
// and its Created is in whole seconds.
type ContainerState struct {
	ID      string
	Name    string // without a leading slash
	Image   string // the reference it was created from
	ImageID string // "sha256:…": the content it really runs
	Labels  map[string]string
	Status  Status
	Created time.Time
	// Address is where the container listens on the network Berth attached it
	// to: the engine's when it runs, the assigned one otherwise.
	Address  netip.Addr
	Networks []string // names
	Mounts   []Mount
	// Node is the id of the node whose engine has it; "" is this machine.
	Node string
	// Away: that node cannot be asked, and this is what was last seen there.
	Away bool

	Full         bool
	Started      time.Time
	Exit         ExitState // meaningful once the container has ended at least once
	RestartCount int
	Restart      RestartPolicy
	Ports        []PortBinding
	Resources    Resources
}

// Running reports whether the main process runs now.
func (s *ContainerState) Running() bool { return s.Status == StatusRunning }

// ExitState says how a container ended.
type ExitState struct {
	Code       int
	OOMKilled  bool   // the engine saw the kernel end it; some engines miss it now and then
	Error      string // the engine's word when the process could not start
	StartedAt  time.Time
	FinishedAt time.Time
}

// Doubt words what the exit code leaves open, for a message; most times it is empty.
func (s ExitState) Doubt() string {
	if s.Code == 137 && !s.OOMKilled && s.Error == "" {
		return " (killed: by someone, or for its memory, which an engine does not always tell)"
	}
	return ""
}

// Image is the identity of an image on one engine.
type Image struct {
	ID           string   // "sha256:…" of the configuration
	Digests      []string // "repo@sha256:…" as known to registries; empty for a local build
	Tags         []string
	Architecture string
	OS           string
	SizeBytes    int64
	ExposedPorts []int    // TCP ports the image declares, ascending
	Volumes      []string // directories the image declares as volumes, as it writes them, ascending
	User         string   // whom its containers run as; "" is root
}

// RegistryAuth authenticates a pull.
type RegistryAuth struct {
	Username, Password, ServerAddress string
}

// String hides the password.
func (RegistryAuth) String() string { return "[redacted]" }

// PullProgress is one step of a pull. Total is 0 while unknown.
type PullProgress struct {
	Layer          string
	Status         string
	Current, Total int64
}

// VolumeSpec is a named volume to create.
type VolumeSpec struct {
	Name   string
	Labels map[string]string
}

// Volume is a named volume as observed.
type Volume struct {
	Name    string
	Labels  map[string]string
	Created time.Time
}

// NetworkSpec is a bridge network to create.
type NetworkSpec struct {
	Name   string
	Subnet netip.Prefix
	Labels map[string]string
	// Bridge names the interface on the host, in at most 15 characters; "" lets the
	// engine choose.
	Bridge string
}

// NetworkDetail is one network with what is attached to it.
type NetworkDetail struct {
	ID       string
	Name     string
	Driver   string
	Subnets  []netip.Prefix
	Gateway  netip.Addr
	Labels   map[string]string
	Created  time.Time
	Attached []NetworkMember // running containers only, as engines report it
}

// NetworkMember is a container on a network.
type NetworkMember struct {
	ContainerID, Name string
	Address           netip.Addr
}

// Stream tells standard output from standard error.
type Stream string

// The streams of a container.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// LogOptions selects lines of a container's log.
type LogOptions struct {
	Since  time.Time // zero: from the beginning
	Until  time.Time // zero: to the end
	Tail   int       // last N lines; 0 or less: all
	Follow bool
}

// LogLine is one whole line, without its line end. A line longer than
// MaxLogLine is cut there and goes on in the next LogLine with Partial set on
// the first.
type LogLine struct {
	Time    time.Time
	Stream  Stream
	Text    string
	Partial bool
}

// MaxLogLine bounds one log line, in bytes.
const MaxLogLine = 64 << 10

// Event is a change of one container.
type Event struct {
	Time        time.Time
	Action      EventAction
	ContainerID string
	Name        string
	Labels      map[string]string
	ExitCode    int // of a die
}

// EventAction is what happened to a container.
type EventAction string

// The actions delivered; others are dropped.
const (
	EventCreate  EventAction = "create"
	EventStart   EventAction = "start"
	EventDie     EventAction = "die"
	EventOOM     EventAction = "oom"
	EventPause   EventAction = "pause"
	EventUnpause EventAction = "unpause"
	EventDestroy EventAction = "destroy"
)
