package provider

import "time"

// HealthCheckSpec is one probe. It is of one kind: HTTP with Path, gRPC with GRPC,
// a command with Exec, and a TCP connection with none of them. A zero
// HealthCheckSpec is no check, the same as nil.
type HealthCheckSpec struct {
	// Path is requested with GET; any status from 200 to 399 is healthy unless
	// ExpectedStatus says otherwise.
	Path string `json:"path,omitempty"`

	// Port is dialled; zero is the first TCP port of the service.
	Port int `json:"port"`

	// Interval is between probes once the service is up; zero is the provider's
	// default. While it comes up probes may be more frequent.
	Interval time.Duration `json:"interval"`

	// Timeout bounds one probe; zero is the provider's default.
	Timeout time.Duration `json:"timeout"`

	// Retries is how many failures in a row turn healthy into unhealthy; zero is
	// the provider's default.
	Retries int `json:"retries"`

	// Exec is run in the container, without a shell; exit code 0 is healthy.
	Exec []string `json:"exec,omitempty"`

	// GRPC asks the health service of gRPC on Port.
	GRPC *GRPCCheck `json:"grpc,omitempty"`

	// ExpectedStatus is the one HTTP status that is healthy; zero is 200 to 399.
	ExpectedStatus int `json:"expected_status,omitempty"`

	// StartPeriod is the time after the start in which failures do not count.
	StartPeriod time.Duration `json:"start_period,omitempty"`
}

// GRPCCheck is a question to grpc.health.v1.
type GRPCCheck struct {
	// Service is asked for; empty is the server as a whole.
	Service string `json:"service,omitempty"`
}

// IsZero reports whether h checks nothing.
func (h HealthCheckSpec) IsZero() bool {
	return h.Path == "" && h.Port == 0 && h.Interval == 0 && h.Timeout == 0 && h.Retries == 0 &&
		len(h.Exec) == 0 && h.GRPC == nil && h.ExpectedStatus == 0 && h.StartPeriod == 0
}
