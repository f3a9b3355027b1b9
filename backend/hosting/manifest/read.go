package manifest

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// reader takes values out of a tree and notes what is wrong with them. Each method
// is false for a value that is not there as it should be, which is noted then.
type reader struct{ faults }

func (r *reader) is(at *place, n *node, want kind) bool {
	if n.kind == want {
		return true
	}
	if n.kind == null {
		r.add(at, "is null; leave it out, or give %s", want)
	} else {
		r.add(at, "is %s; give %s", n.kind, want)
	}
	return false
}

// fields reads an object of which all members are known.
func (r *reader) fields(at *place, n *node, known map[string]func(at *place, n *node)) {
	if !r.is(at, n, object) {
		return
	}
	for _, m := range n.members {
		if read := known[m.key]; read != nil {
			read(at.field(m.key), m.value)
		} else if lower := strings.ToLower(m.key); lower != m.key && known[lower] != nil {
			r.add(at.field(m.key), "is not a field; write %q", lower)
		} else {
			r.add(at.field(m.key), "is not a field that a manifest has here; remove it")
		}
	}
}

// entries reads an object whose members have names of the tenant's choice.
func (r *reader) entries(at *place, n *node, most int, read func(at *place, key string, n *node)) {
	if !r.is(at, n, object) {
		return
	}
	if len(n.members) > most {
		r.add(at, "has %d entries; the most is %d", len(n.members), most)
		return
	}
	for _, m := range n.members {
		read(at.field(m.key), m.key, m.value)
	}
}

func (r *reader) list(at *place, n *node, most int, read func(at *place, n *node)) {
	if !r.is(at, n, list) {
		return
	}
	if len(n.items) > most {
		r.add(at, "has %d entries; the most is %d", len(n.items), most)
		return
	}
	for i, item := range n.items {
		read(at.element(i), item)
	}
}

func (r *reader) text(at *place, n *node) (string, bool) {
	return n.text, r.is(at, n, text)
}

func (r *reader) boolean(at *place, n *node) bool {
	return r.is(at, n, boolean) && n.truth
}

// words reads a list of arguments, of which the first one is what is run.
func (r *reader) words(at *place, n *node) []string {
	var out []string
	r.list(at, n, MaxArguments, func(at *place, n *node) {
		word, ok := r.text(at, n)
		switch {
		case !ok:
		case strings.ContainsRune(word, 0):
			r.add(at, "has a NUL in it, which no argument can have; remove it")
		}
		out = append(out, word)
	})
	return out
}

// maxExact is the largest number that every JSON reader takes as it is written.
const maxExact = 1 << 53

// integer reads a whole number; 1.0 and 1e3 are such, as in JSON Schema.
func (r *reader) integer(at *place, n *node) (int64, bool) {
	if !r.is(at, n, number) {
		return 0, false
	}
	if v, err := strconv.ParseInt(n.text, 10, 64); err == nil {
		return v, true
	}
	v, err := strconv.ParseFloat(n.text, 64)
	if err != nil || math.Abs(v) > maxExact || v != math.Trunc(v) {
		r.add(at, "is not a whole number, or too large")
		return 0, false
	}
	return int64(v), true
}

// durationForm is what time.ParseDuration reads, without a minus.
var durationForm = regexp.MustCompile(`^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`)

const maxDurationText = 64

// duration reads "1m30s", or a number of nanoseconds.
func (r *reader) duration(at *place, n *node, least, most time.Duration) time.Duration {
	var d time.Duration
	switch n.kind {
	case text:
		parsed, err := time.ParseDuration(n.text)
		if err != nil || len(n.text) > maxDurationText || !durationForm.MatchString(n.text) {
			r.add(at, `is not a duration such as "30s" or "1m30s"`)
			return 0
		}
		d = parsed
	case number:
		ns, ok := r.integer(at, n)
		if !ok {
			return 0
		}
		d = time.Duration(ns)
	default:
		r.add(at, `is %s; give a duration such as "30s", or a number of nanoseconds`, n.kind)
		return 0
	}
	if d < least || d > most {
		r.add(at, "is not from %s to %s; a number without a unit is nanoseconds", least, most)
	}
	return d
}
