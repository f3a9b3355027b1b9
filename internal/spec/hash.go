package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// canonicalVersion begins every canonical form. It changes only when the form
// itself does, and then every container of every installation is replaced.
const canonicalVersion = "berth service 1\n"

// The defaults as the canonical form knows them. They stay what they are when
// the defaults of app.yaml change: a hash says what a container was made from,
// not what was left out of a file.
const (
	canonicalInterval = 2 * time.Second
	canonicalTimeout  = 2 * time.Second
	canonicalExpected = "200-299"
)

// Hash is the SHA-256, in hex, over everything that needs a new container:
// command, env, port, readiness probe, resources, volumes and published ports.
// The image is left out because its identity, which the reference alone does
// not tell, is hashed beside it. Left out too is what the control plane and the
// data plane do without touching a container: replicas, routes, strategy,
// timeouts (the stop grace is said at the stop), labels.
//
// A field at its default adds nothing, so that a field that comes later changes
// no hash of a service that does not use it. Order does not matter where it
// means nothing.
func (s *Service) Hash() string {
	sum := sha256.Sum256([]byte(canonicalVersion + s.canonical()))
	return hex.EncodeToString(sum[:])
}

// canonical is the text that the hash is over.
func (s *Service) canonical() string {
	r := record{}
	r.list("command", s.Command)
	r.list("env", envPairs(s.Env))
	r.integer("port", int64(s.Port))
	r.integer("resources.memory", s.Resources.MemoryBytes)
	r.integer("resources.cpu", s.Resources.MilliCPU)
	if p := s.Readiness; p != nil {
		r.text("readiness.path", p.Path)
		r.integer("readiness.port", int64(p.Port))
		r.duration("readiness.interval", p.Interval, canonicalInterval)
		r.duration("readiness.timeout", p.Timeout, canonicalTimeout)
		if p.ExpectedStatus != canonicalExpected {
			r.text("readiness.expected_status", p.ExpectedStatus)
		}
	}
	records(r, "volumes", s.Volumes, func(v Volume, r record) {
		r.text("name", v.Name)
		r.text("host_path", v.HostPath)
		r.text("path", v.Path)
		r.boolean("read_only", v.ReadOnly)
	})
	records(r, "publish", s.Publish, func(p PublishedPort, r record) {
		r.integer("port", int64(p.Port))
		r.integer("host_port", int64(p.HostPort))
		r.boolean("public", p.Public)
	})
	return r.String()
}

// envPairs are names and values in turn, by name.
func envPairs(env []EnvVar) []string {
	sorted := slices.SortedStableFunc(slices.Values(env), func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) })
	pairs := make([]string, 0, 2*len(sorted))
	for _, e := range sorted {
		pairs = append(pairs, e.Name, e.Value)
	}
	return pairs
}

// record is the fields of a thing that differ from their defaults, each already
// in its canonical form.
type record map[string]string

// list puts a list that is not empty. Each value is preceded by its length, so
// that no two lists have one form.
func (r record) list(key string, values []string) {
	if len(values) == 0 {
		return
	}
	var b strings.Builder
	for _, value := range values {
		fmt.Fprintf(&b, "%d:%s,", len(value), value)
	}
	r[key] = b.String()
}

func (r record) text(key, value string) {
	if value != "" {
		r.list(key, []string{value})
	}
}

func (r record) integer(key string, value int64) {
	if value != 0 {
		r.text(key, strconv.FormatInt(value, 10))
	}
}

func (r record) boolean(key string, value bool) {
	if value {
		r.text(key, "true")
	}
}

func (r record) duration(key string, value, unless time.Duration) {
	if value != unless {
		r.text(key, strconv.FormatInt(int64(value), 10)+"ns")
	}
}

// String is the fields by key, one a line.
func (r record) String() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(r)) {
		b.WriteString(key + "=" + r[key] + "\n")
	}
	return b.String()
}

// records puts a set of things, each as a record of its own.
func records[T any](r record, key string, things []T, fill func(T, record)) {
	forms := make([]string, 0, len(things))
	for _, thing := range things {
		one := record{}
		fill(thing, one)
		forms = append(forms, one.String())
	}
	slices.Sort(forms)
	r.list(key, forms)
}
