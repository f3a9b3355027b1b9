package probe

import (
	"cmp"
	"time"
)

// Limits bound what probes may cost, and say how services are probed that do
// not say it themselves. A zero field means its default; see [DefaultLimits].
type Limits struct {
	// MaxRedirects is how many redirects an HTTP probe follows; less than 0 is none.
	MaxRedirects int
	// MaxOutput is how many bytes are kept of an answer that did not pass, or of
	// what a probing command wrote.
	MaxOutput int

	// Interval is the time between readiness probes, once they are slow.
	Interval time.Duration
	// Timeout is the time one probe has.
	Timeout time.Duration
	// ReadyTimeout is the time a new container has to pass.
	ReadyTimeout time.Duration
	// LivenessInterval is the time between probes of a container that serves.
	LivenessInterval time.Duration
	// LivenessFailures is how many of those must fail in a row to count.
	LivenessFailures int
}

// DefaultLimits are the limits of a zero [Limits].
func DefaultLimits() Limits {
	return Limits{
		MaxRedirects:     10,
		MaxOutput:        512,
		Interval:         2 * time.Second,
		Timeout:          2 * time.Second,
		ReadyTimeout:     time.Minute,
		LivenessInterval: 30 * time.Second,
		LivenessFailures: 3,
	}
}

// OrDefaults fills the fields that are zero.
func (l Limits) OrDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		MaxRedirects:     cmp.Or(l.MaxRedirects, d.MaxRedirects),
		MaxOutput:        cmp.Or(max(l.MaxOutput, 0), d.MaxOutput),
		Interval:         cmp.Or(max(l.Interval, 0), d.Interval),
		Timeout:          cmp.Or(max(l.Timeout, 0), d.Timeout),
		ReadyTimeout:     cmp.Or(max(l.ReadyTimeout, 0), d.ReadyTimeout),
		LivenessInterval: cmp.Or(max(l.LivenessInterval, 0), d.LivenessInterval),
		LivenessFailures: cmp.Or(max(l.LivenessFailures, 0), d.LivenessFailures),
	}
}
