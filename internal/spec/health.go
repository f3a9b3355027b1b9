package spec

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/probe"
)

// Bounds of probes.
const (
	minReadyTimeout  = time.Second
	minProbeInterval = 100 * time.Millisecond
	maxProbeInterval = 5 * time.Minute
	minProbeTimeout  = 100 * time.Millisecond
	maxProbeTimeout  = time.Minute
)

// healthFields are the keys of health.
func healthFields() []field[serviceDraft] {
	return []field[serviceDraft]{
		{name: "readiness", read: func(d *decoder, v value, s *serviceDraft) {
			p := Probe{
				Interval:       DefaultProbeInterval,
				Timeout:        DefaultProbeTimeout,
				ExpectedStatus: DefaultExpected,
			}
			section(d, v, readinessFields(), &p)
			s.Readiness = &p
		}},
		durationField("ready_timeout", minReadyTimeout, maxReadyTimeout,
			func(s *serviceDraft) *time.Duration { return &s.ReadyTimeout }),
	}
}

// readinessFields are the keys of health.readiness.
func readinessFields() []field[Probe] {
	return []field[Probe]{
		{name: "path", required: true, read: readProbePath},
		{name: "port", read: func(d *decoder, v value, p *Probe) {
			if n, ok := d.integer(v, 1, maxPort); ok {
				p.Port = n
			}
		}},
		durationField("interval", minProbeInterval, maxProbeInterval, func(p *Probe) *time.Duration { return &p.Interval }),
		durationField("timeout", minProbeTimeout, maxProbeTimeout, func(p *Probe) *time.Duration { return &p.Timeout }),
		{name: "expected_status", read: func(d *decoder, v value, p *Probe) {
			text, ok := d.text(v)
			if !ok {
				return
			}
			ranges, err := probe.ParseStatusRanges(text)
			if err != nil {
				what := strings.TrimPrefix(err.Error(), probe.ErrStatusRange.Error()+": ")
				d.refuseErr(v, advise(what, "write statuses from 200 to 599, for example 200-299,304"))
				return
			}
			p.ExpectedStatus = ranges.String()
		}},
	}
}

var probePathForm = regexp.MustCompile(`^/[!-~]*$`)

func readProbePath(d *decoder, v value, p *Probe) {
	path, ok := d.str(v)
	switch {
	case !ok:
	case !strings.HasPrefix(path, "/"):
		d.refuse(v, quote(path)+" does not begin with a slash", "write the path to ask for, for example /ready")
	case len(path) > maxPathBytes:
		d.refuse(v, fmt.Sprintf("the path has %d characters", len(path)), fmt.Sprintf("the most is %d", maxPathBytes))
	case !probePathForm.MatchString(path) || strings.Contains(path, "#"):
		d.refuse(v, quote(path)+" is not a path to ask for", "write ASCII without spaces and #; escape others with %")
	default:
		p.Path = path
	}
}
