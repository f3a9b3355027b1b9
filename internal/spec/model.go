package spec

import "time"

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

	Readiness    *HTTPProbe    `json:"readiness,omitempty"`
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
}

// EnvVar is one environment variable; the value is any UTF-8 text without NUL.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Strategy is how a change of a service is carried out.
type Strategy string

// The strategies that apps may name today.
const (
	BlueGreen Strategy = "blue-green"
	Recreate  Strategy = "recreate"
)

// HTTPProbe is a declared readiness probe.
type HTTPProbe struct {
	Path           string        `json:"path"`
	Port           int           `json:"port,omitempty"` // 0: the service's port
	Interval       time.Duration `json:"interval"`
	Timeout        time.Duration `json:"timeout"`
	ExpectedStatus string        `json:"expected_status"` // "200-299,304"
}

// Resources are limits; zero means none.
type Resources struct {
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	MilliCPU    int64 `json:"milli_cpu,omitempty"`
}

// Volume is a named volume or an allowed host path in every replica.
type Volume struct {
	Name     string `json:"name,omitempty"` // exclusive with HostPath
	HostPath string `json:"host_path,omitempty"`
	Path     string `json:"path"`
	ReadOnly bool   `json:"read_only,omitempty"`
	// Shared says that the program bears several writers at once.
	Shared bool `json:"shared,omitempty"`
}

// Exclusive reports whether two running containers must never hold the volume.
func (v Volume) Exclusive() bool { return !v.ReadOnly && !v.Shared }

// PublishedPort opens a port on the host, on loopback unless Public.
type PublishedPort struct {
	Port     int  `json:"port"`      // in the container
	HostPort int  `json:"host_port"` // on the host
	Public   bool `json:"public,omitempty"`
}

// Exclusive reports whether two releases of the service cannot run at once:
// it writes to a volume of its own, or it holds a port of the host.
func (s *Service) Exclusive() bool {
	if len(s.Publish) > 0 {
		return true
	}
	for _, v := range s.Volumes {
		if v.Exclusive() {
			return true
		}
	}
	return false
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
)
