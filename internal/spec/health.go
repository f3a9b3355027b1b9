package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/probe"
	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// Bounds of probes.
const (
	minReadyTimeout  = time.Second
	minProbeInterval = 100 * time.Millisecond
	maxProbeInterval = 5 * time.Minute
	minProbeTimeout  = 100 * time.Millisecond
	maxProbeTimeout  = time.Minute

	minLivenessInterval = time.Second
	maxLivenessInterval = time.Hour
	maxLivenessFailures = 100
	maxGRPCServiceBytes = 255
)

// healthFields are the keys of health of a service.
func healthFields() []field[serviceDraft] {
	return slices.Concat(
		probeFields(func(s *serviceDraft) *memberDraft { return &s.main }),
		[]field[serviceDraft]{durationField("ready_timeout", minReadyTimeout, maxReadyTimeout,
			func(s *serviceDraft) *time.Duration { return &s.ReadyTimeout })},
	)
}

// probeFields are the keys for how a container is asked.
func probeFields[T any](of func(*T) *memberDraft) []field[T] {
	return lift(of,
		field[memberDraft]{Name: "readiness", Read: func(d *decoder, v value, m *memberDraft) {
			m.Readiness = d.probe(v, readinessFields(), Probe{Interval: DefaultProbeInterval, Timeout: DefaultProbeTimeout})
		}},
		field[memberDraft]{Name: "liveness", Read: func(d *decoder, v value, m *memberDraft) {
			m.Liveness = d.probe(v, livenessFields(), Probe{Interval: DefaultLivenessInterval, Timeout: DefaultProbeTimeout,
				Failures: DefaultLivenessFailures})
		}},
	)
}

// probeDraft is a probe while it is read.
type probeDraft struct {
	Probe
	ways []string // the keys that say how to ask
}

// readinessFields are the keys of health.readiness.
func readinessFields() []field[probeDraft] {
	return slices.Concat(askFields("[check, --ready]"), cadenceFields(minProbeInterval, maxProbeInterval))
}

// livenessFields are the keys of health.liveness.
func livenessFields() []field[probeDraft] {
	return slices.Concat(askFields("[check, --alive]"), cadenceFields(minLivenessInterval, maxLivenessInterval), []field[probeDraft]{
		{Name: "failures", Read: func(d *decoder, v value, p *probeDraft) {
			if n, ok := d.Integer(v, 1, maxLivenessFailures); ok {
				p.Failures = n
			}
		}},
	})
}

// askFields are the keys for how a probe asks.
func askFields(example string) []field[probeDraft] {
	return []field[probeDraft]{
		way("path", readProbePath),
		way("exec", func(d *decoder, v value, p *probeDraft) { p.Exec = d.words(v, "probe", example) }),
		way("grpc", readProbeGRPC),
		way("tcp", func(d *decoder, v value, _ *probeDraft) {
			if is, ok := d.Boolean(v); ok && !is {
				d.Refuse(v, "a probe is not told how not to ask", "leave it out")
			}
		}),
		{Name: "port", Read: func(d *decoder, v value, p *probeDraft) {
			if n, ok := d.Integer(v, 1, maxPort); ok {
				p.Port = n
			}
		}},
		{Name: "expected_status", Read: readExpectedStatus},
	}
}

// way is a key that says how a probe asks.
func way(name string, read func(*decoder, value, *probeDraft)) field[probeDraft] {
	return field[probeDraft]{Name: name, Read: func(d *decoder, v value, p *probeDraft) {
		p.ways = append(p.ways, name)
		read(d, v, p)
	}}
}

// cadenceFields are the keys for how often a probe asks, and how long it waits.
func cadenceFields(low, high time.Duration) []field[probeDraft] {
	return []field[probeDraft]{
		durationField("interval", low, high, func(p *probeDraft) *time.Duration { return &p.Interval }),
		durationField("timeout", minProbeTimeout, maxProbeTimeout, func(p *probeDraft) *time.Duration { return &p.Timeout }),
	}
}

// probe reads a probe, which asks in exactly one way.
func (d *decoder) probe(v value, fields []field[probeDraft], unless Probe) *Probe {
	p := probeDraft{Probe: unless}
	before := d.Errs.Count()
	yamlfile.Section(d, v, fields, &p)
	if v.Kind != yaml.MappingNode {
		return &p.Probe
	}
	written := func(key string) bool { _, ok := d.At[yamlfile.Join(v.Path, key)]; return ok }
	switch {
	case len(p.ways) > 1:
		d.Refuse(v, "the probe asks in more than one way: "+strings.Join(p.ways, " and "), "keep one")
	case len(p.ways) == 0 && !written("port") && d.Errs.Count() == before:
		d.Refuse(v, "the probe does not say how to ask", "write path, exec, grpc, or tcp: true")
	case slices.Contains(p.ways, "exec") && written("port"):
		d.RefuseAt(yamlfile.Join(v.Path, "port"), "a command asks no port", "leave it out")
	}
	if len(p.ways) == 1 && p.ways[0] == "path" {
		if p.ExpectedStatus == "" {
			p.ExpectedStatus = DefaultExpected
		}
	} else if written("expected_status") && !slices.Contains(p.ways, "path") {
		d.RefuseAt(yamlfile.Join(v.Path, "expected_status"), "only an HTTP request is answered with a status", "write path, or leave it out")
	}
	return &p.Probe
}

func readExpectedStatus(d *decoder, v value, p *probeDraft) {
	text, ok := d.Text(v)
	if !ok {
		return
	}
	ranges, err := probe.ParseStatusRanges(text)
	if err != nil {
		what := strings.TrimPrefix(err.Error(), probe.ErrStatusRange.Error()+": ")
		d.RefuseErr(v, yamlfile.Advise(what, "write statuses from 200 to 599, for example 200-299,304"))
		return
	}
	p.ExpectedStatus = ranges.String()
}

var grpcServiceForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

func readProbeGRPC(d *decoder, v value, p *probeDraft) {
	p.GRPC = true
	if v.Kind == yaml.ScalarNode && v.Tag == "!!bool" {
		if is, ok := d.Boolean(v); ok && !is {
			d.Refuse(v, "a probe is not told how not to ask", "leave it out")
		}
		return
	}
	service, ok := d.Text(v)
	switch {
	case !ok:
	case len(service) > maxGRPCServiceBytes || !grpcServiceForm.MatchString(service):
		d.Refuse(v, yamlfile.Quote(service)+" is not the name of a gRPC service", "write true for the server as a whole, or a name such as shop.v1.Web")
	default:
		p.GRPCService = service
	}
}

var probePathForm = regexp.MustCompile(`^/[!-~]*$`)

func readProbePath(d *decoder, v value, p *probeDraft) {
	path, ok := d.Str(v)
	switch {
	case !ok:
	case !strings.HasPrefix(path, "/"):
		d.Refuse(v, yamlfile.Quote(path)+" does not begin with a slash", "write the path to ask for, for example /ready")
	case len(path) > maxPathBytes:
		d.Refuse(v, fmt.Sprintf("the path has %d characters", len(path)), fmt.Sprintf("the most is %d", maxPathBytes))
	case !probePathForm.MatchString(path) || strings.Contains(path, "#"):
		d.Refuse(v, yamlfile.Quote(path)+" is not a path to ask for", "write ASCII without spaces and #; escape others with %")
	default:
		p.Path = path
	}
}
