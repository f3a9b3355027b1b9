package translate

import (
	"cmp"
	"strconv"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/provider"
)

// healthyStatus is what an HTTP check accepts that names no status.
const healthyStatus = "200-399"

// readiness decides when a container is ready. Without a health check a
// connection to its first port does, which is said in so many words: a check that
// the planner only assumes would not be waited for by other members.
func readiness(h *provider.HealthCheckSpec, ports []provider.PortSpec) *spec.Probe {
	p := check(h)
	if p == nil && firstPort(ports) != 0 {
		p = check(&provider.HealthCheckSpec{Port: firstPort(ports)})
	}
	if p != nil {
		p.Interval = cmp.Or(p.Interval, spec.DefaultProbeInterval)
	}
	return p
}

func liveness(h *provider.HealthCheckSpec) *spec.Probe {
	p := check(h)
	if p != nil {
		p.Interval = cmp.Or(p.Interval, spec.DefaultLivenessInterval)
		p.Failures = cmp.Or(p.Failures, spec.DefaultLivenessFailures)
	}
	return p
}

// check is the probe of a health check; one that checks nothing is none.
func check(h *provider.HealthCheckSpec) *spec.Probe {
	if h == nil || h.IsZero() {
		return nil
	}
	p := &spec.Probe{
		Path: h.Path, Port: h.Port, Interval: h.Interval, Timeout: cmp.Or(h.Timeout, spec.DefaultProbeTimeout),
		ExpectedStatus: healthyStatus, Exec: h.Exec, Failures: h.Retries,
	}
	if h.ExpectedStatus != 0 {
		p.ExpectedStatus = strconv.Itoa(h.ExpectedStatus)
	}
	if h.GRPC != nil {
		p.GRPC, p.GRPCService = true, h.GRPC.Service
	}
	return p
}

// Declared is the check that a service declares, with the interval and the
// number of failures that it names, 0 for none; nil when it declares none.
func Declared(s provider.ServiceSpec) *spec.Probe { return check(s.HealthCheck) }

// Port is the port that a service is asked on when a check names none.
func Port(s provider.ServiceSpec) int { return firstPort(s.Ports) }
