package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of probes.
const (
	minReadyTimeout  = time.Second
	minProbeInterval = 100 * time.Millisecond
	maxProbeInterval = 5 * time.Minute
	minProbeTimeout  = 100 * time.Millisecond
	maxProbeTimeout  = time.Minute
	minStatus        = 200
	maxStatus        = 599
)

// healthFields are the keys of health.
func healthFields() []field[serviceDraft] {
	return []field[serviceDraft]{
		{name: "readiness", read: func(d *decoder, v value, s *serviceDraft) {
			probe := HTTPProbe{
				Interval:       DefaultProbeInterval,
				Timeout:        DefaultProbeTimeout,
				ExpectedStatus: DefaultExpected,
			}
			section(d, v, readinessFields(), &probe)
			s.Readiness = &probe
		}},
		durationField("ready_timeout", minReadyTimeout, maxReadyTimeout,
			func(s *serviceDraft) *time.Duration { return &s.ReadyTimeout }),
	}
}

// readinessFields are the keys of health.readiness.
func readinessFields() []field[HTTPProbe] {
	return []field[HTTPProbe]{
		{name: "path", required: true, read: readProbePath},
		{name: "port", read: func(d *decoder, v value, p *HTTPProbe) {
			if n, ok := d.integer(v, 1, maxPort); ok {
				p.Port = n
			}
		}},
		durationField("interval", minProbeInterval, maxProbeInterval, func(p *HTTPProbe) *time.Duration { return &p.Interval }),
		durationField("timeout", minProbeTimeout, maxProbeTimeout, func(p *HTTPProbe) *time.Duration { return &p.Timeout }),
		{name: "expected_status", read: func(d *decoder, v value, p *HTTPProbe) {
			text, ok := d.text(v)
			if !ok {
				return
			}
			ranges, err := ParseStatusRanges(text)
			if err != nil {
				d.refuseErr(v, err)
				return
			}
			p.ExpectedStatus = ranges.String()
		}},
	}
}

var probePathForm = regexp.MustCompile(`^/[!-~]*$`)

func readProbePath(d *decoder, v value, p *HTTPProbe) {
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

// StatusRange is a range of HTTP statuses, both ends included.
type StatusRange struct{ Low, High int }

// StatusRanges are sorted and do not touch.
type StatusRanges []StatusRange

// Contain reports whether a status is in one of the ranges.
func (r StatusRanges) Contain(status int) bool {
	return slices.ContainsFunc(r, func(s StatusRange) bool { return s.Low <= status && status <= s.High })
}

// String writes the ranges as [ParseStatusRanges] reads them.
func (r StatusRanges) String() string {
	parts := make([]string, len(r))
	for i, s := range r {
		parts[i] = strconv.Itoa(s.Low)
		if s.High != s.Low {
			parts[i] += "-" + strconv.Itoa(s.High)
		}
	}
	return strings.Join(parts, ",")
}

var statusForm = regexp.MustCompile(`^\s*([0-9]{3})\s*(?:-\s*([0-9]{3})\s*)?$`)

// ParseStatusRanges reads statuses and ranges of them, such as "200-299,304",
// each from 200 to 599. Ranges that overlap or touch become one.
func ParseStatusRanges(s string) (StatusRanges, error) {
	const do = "write statuses from 200 to 599, for example 200-299,304"
	var all StatusRanges
	if len(s) > maxPathBytes {
		return nil, advise("the list of statuses is too long", do)
	}
	for part := range strings.SplitSeq(s, ",") {
		m := statusForm.FindStringSubmatch(part)
		if m == nil {
			return nil, advise(quote(part)+" is not an HTTP status or a range of them", do)
		}
		low, _ := strconv.Atoi(m[1])
		high := low
		if m[2] != "" {
			high, _ = strconv.Atoi(m[2])
		}
		if low < minStatus || high > maxStatus || low > high {
			return nil, advise(quote(strings.TrimSpace(part))+" is not a range of final HTTP statuses", do)
		}
		all = append(all, StatusRange{low, high})
	}
	return mergeRanges(all), nil
}

// mergeRanges sorts ranges and joins those that overlap or touch.
func mergeRanges(all StatusRanges) StatusRanges {
	slices.SortFunc(all, func(a, b StatusRange) int { return a.Low - b.Low })
	merged := all[:0]
	for _, next := range all {
		if n := len(merged); n > 0 && next.Low <= merged[n-1].High+1 {
			merged[n-1].High = max(merged[n-1].High, next.High)
			continue
		}
		merged = append(merged, next)
	}
	return merged
}
