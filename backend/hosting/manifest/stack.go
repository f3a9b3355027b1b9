package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"
)

// DefaultService is the name of the service of a document that has one alone.
const DefaultService = "app"

// Stack is a document that was read and is good.
type Stack struct {
	// Services are at least one, by name.
	Services map[string]*Service
}

// Names are those of the services, sorted.
func (s *Stack) Names() []string { return slices.Sorted(maps.Keys(s.Services)) }

// Service is one image and how it runs.
type Service struct {
	// Image is the reference with nothing left out, such as
	// "docker.io/library/nginx:latest".
	Image string

	// Ports are published on the host, sorted by number and protocol. At most one
	// is for ingress.
	Ports []Port

	// Expose are ports that other services reach and nobody else, sorted, those in
	// Ports left out.
	Expose []Port

	Env    map[string]string
	Labels map[string]string

	// Command and Args take the place of the entry point and of the command of the
	// image; empty leaves the image's.
	Command, Args []string

	// HealthCheck is nil where there is none, and where the document says NONE: the
	// image's own check is asked in no case.
	HealthCheck *HealthCheck

	// Tmpfs are absolute, clean paths of directories in memory, sorted.
	Tmpfs []string

	// User is "user" or "user:group", each a name or a number; "" is the image's.
	User string

	// DependsOn is sorted by name.
	DependsOn []Dependency

	// StopGrace is the time between the stop signal and the kill; never zero.
	StopGrace time.Duration

	// Init runs a process before the image's that reaps children.
	Init bool
}

// Protocol is what a port speaks below.
type Protocol string

// The protocols.
const (
	TCP Protocol = "tcp"
	UDP Protocol = "udp"
)

// Port is one that a container listens on.
type Port struct {
	Number   int // 1 to 65535
	Protocol Protocol

	// Ingress asks that the service's host names lead here. TCP alone has it.
	Ingress bool
}

// String is such as "80/tcp".
func (p Port) String() string { return strconv.Itoa(p.Number) + "/" + string(p.Protocol) }

func comparePorts(a, b Port) int {
	return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Protocol, b.Protocol))
}

// RoutePort is the port that the service's host names lead to: the one for ingress,
// else 80, else 8080, else the lowest. Only TCP counts, and false means that there
// is none.
func (s *Service) RoutePort() (Port, bool) {
	var best Port
	for _, p := range s.Ports { // sorted, so that the lowest comes first
		if p.Protocol == TCP && (best.Number == 0 || routeRank(p) < routeRank(best)) {
			best = p
		}
	}
	return best, best.Number != 0
}

func routeRank(p Port) int {
	switch {
	case p.Ingress:
		return 0
	case p.Number == 80:
		return 1
	case p.Number == 8080:
		return 2
	}
	return 3
}

// TestKind says how a health check runs its command.
type TestKind string

// The kinds. A document's third one, NONE, is no health check.
const (
	TestCommand TestKind = "CMD"       // as it stands
	TestShell   TestKind = "CMD-SHELL" // by the shell inside the container
	testNone    TestKind = "NONE"
)

// HealthCheck is a command inside the container that ends with 0 when it is well.
type HealthCheck struct {
	Kind TestKind
	Args []string // at least one

	// Interval is between two runs, and StartPeriod a time after the start in which
	// a failure does not count; zero leaves them to the provider.
	Interval, StartPeriod time.Duration

	// Timeout bounds one run; never zero.
	Timeout time.Duration

	// Retries is how many failures in a row are a failure; zero is the provider's
	// default.
	Retries int
}

// Condition is what a service waits for.
type Condition string

// The conditions.
const (
	Started Condition = "service_started"
	Healthy Condition = "service_healthy"
)

// Dependency is another service that must be there first.
type Dependency struct {
	Service   string
	Condition Condition
}
