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

	canonicalLivenessInterval = 30 * time.Second
	canonicalLivenessFailures = 3
)

// Hash is the SHA-256, in hex, over everything that needs a new container: what
// runs and how, env with the versions of its secrets, port, probes, resources,
// volumes and published ports, of every member of the group. Images are left
// out because their identity, which the reference alone does not tell, is hashed
// beside it. Left out too is what the control plane and the data plane do
// without touching a container: replicas, routes, strategy and its bounds,
// timeouts (the stop grace is said at the stop), dependencies, labels, placement.
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
	main := s.Main()
	main.canonical(r)
	members(r, "inits", s.Inits)
	members(r, "sidecars", s.Sidecars)
	r.text("restart", string(s.Restart))
	r.boolean("stateful", s.Stateful)
	r.text("alias", s.Alias)
	return r.String()
}

// canonical puts what one container is made from. The main container's name,
// role and image are left out: the container's own name has them.
func (m *Member) canonical(r record) {
	r.list("depends_on", m.DependsOn)
	r.list("command", m.Command)
	r.list("env", envPairs(m.Env))
	secretEnv(r, m.Env)
	r.integer("port", int64(m.Port))
	r.integer("resources.memory", m.Resources.MemoryBytes)
	r.integer("resources.cpu", m.Resources.MilliCPU)
	r.integer("resources.pids", m.Resources.Pids)
	m.Readiness.canonical(r, "readiness", canonicalInterval)
	// A liveness probe at its defaults is still one more question than none.
	r.boolean("liveness", m.Liveness != nil)
	m.Liveness.canonical(r, "liveness", canonicalLivenessInterval)
	records(r, "volumes", m.Volumes, func(v Volume, r record) {
		r.text("name", v.Name)
		r.text("host_path", v.HostPath)
		r.text("path", v.Path)
		r.boolean("read_only", v.ReadOnly)
		r.list("ids", v.IDs)
	})
	records(r, "publish", m.Publish, func(p PublishedPort, r record) {
		r.integer("port", int64(p.Port))
		r.integer("host_port", int64(p.HostPort))
		r.boolean("public", p.Public)
		r.text("protocol", p.Protocol)
		r.text("address", p.Address)
	})
	m.Process.canonical(r)
}

func (p *Process) canonical(r record) {
	r.list("entrypoint", p.Entrypoint)
	r.text("user", p.User)
	r.text("working_dir", p.WorkingDir)
	r.text("stop_signal", p.StopSignal)
	r.boolean("init", p.Init)
	r.boolean("read_only_root", p.ReadOnlyRoot)
	r.boolean("hardened", p.Hardened)
	r.list("cap_add", p.CapAdd)
	records(r, "tmpfs", p.Tmpfs, func(t Tmpfs, r record) {
		r.text("path", t.Path)
		r.integer("size", t.SizeBytes)
	})
	records(r, "files", p.Files, func(f File, r record) {
		r.text("path", f.Path)
		f.Secret.canonical(r)
	})
}

func (p *Probe) canonical(r record, key string, interval time.Duration) {
	if p == nil {
		return
	}
	r.text(key+".path", p.Path)
	r.integer(key+".port", int64(p.Port))
	r.duration(key+".interval", p.Interval, interval)
	r.duration(key+".timeout", p.Timeout, canonicalTimeout)
	if p.ExpectedStatus != canonicalExpected {
		r.text(key+".expected_status", p.ExpectedStatus)
	}
	r.list(key+".exec", p.Exec)
	r.boolean(key+".grpc", p.GRPC)
	r.text(key+".grpc_service", p.GRPCService)
	if p.Failures != canonicalLivenessFailures {
		r.integer(key+".failures", int64(p.Failures))
	}
}

func (s SecretRef) canonical(r record) {
	r.text("key", s.Key)
	r.boolean("optional", s.Optional)
	r.integer("version", s.Version)
}

// members puts members in their order, each with its name; an image's identity
// is hashed beside the spec for them too.
func members(r record, key string, list []Member) {
	forms := make([]string, 0, len(list))
	for i := range list {
		one := record{}
		one.text("name", list[i].Name)
		list[i].canonical(one)
		forms = append(forms, one.String())
	}
	r.list(key, forms)
}

// envPairs are names and values in turn, by name; secrets are not among them.
func envPairs(env []EnvVar) []string {
	sorted := slices.SortedStableFunc(slices.Values(env), func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) })
	pairs := make([]string, 0, 2*len(sorted))
	for _, e := range sorted {
		if e.Secret.Key == "" {
			pairs = append(pairs, e.Name, e.Value)
		}
	}
	return pairs
}

// secretEnv puts where secret variables come from.
func secretEnv(r record, env []EnvVar) {
	var secret []EnvVar
	for _, e := range env {
		if e.Secret.Key != "" {
			secret = append(secret, e)
		}
	}
	records(r, "secret_env", secret, func(e EnvVar, r record) {
		r.text("name", e.Name)
		e.Secret.canonical(r)
	})
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
