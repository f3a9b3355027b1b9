package spec

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// The methods here compare what one container is made from: that of a service
// itself, whose prefix is "", or a member of its group.

// program compares what runs.
func (d *differ) program(prefix string, old, new *Member) {
	d.text(prefix+"image", old.Image, new.Image, EffectRoll)
	d.words(prefix+"entrypoint", old.Entrypoint, new.Entrypoint)
	d.words(prefix+"command", old.Command, new.Command)
	d.env(prefix, old.Env, new.Env)
	d.text(prefix+"port", formatCount(old.Port), formatCount(new.Port), EffectRoll)
}

func (d *differ) env(prefix string, old, new []EnvVar) {
	name := func(e EnvVar) string { return e.Name }
	said := func(env []EnvVar) []EnvVar {
		env = slices.Clone(env)
		for i := range env {
			if env[i].Secret.Key != "" {
				env[i].Value = "" // the secret is the value
			}
		}
		return env
	}
	keyed(byKey(said(old), name), byKey(said(new), name), func(name string, before, after *EnvVar) {
		d.changes = append(d.changes, FieldChange{Path: prefix + yamlfile.Join("env", name), Old: formatVariable(before),
			New: formatVariable(after), Effect: EffectRoll, Private: plainValue(before) || plainValue(after)})
	})
}

// plainValue reports whether a variable's value stands in the spec.
func plainValue(e *EnvVar) bool { return e != nil && e.Secret.Key == "" }

func (d *differ) labels(prefix string, old, new map[string]string) {
	keyed(old, new, func(key string, before, after *string) {
		d.add(prefix+yamlfile.Join("labels", key), formatText(before), formatText(after), EffectSettings)
	})
}

func (d *differ) probes(prefix string, old, new *Member) {
	before, after := old.Readiness, new.Readiness
	// No probe and one that asks nothing beyond connecting are the same question.
	if before.plain() {
		before = nil
	}
	if after.plain() {
		after = nil
	}
	d.probe(prefix+"health.readiness", before, after)
	d.probe(prefix+"health.liveness", old.Liveness, new.Liveness)
}

// plain reports whether a readiness probe adds nothing to what is asked without
// one.
func (p *Probe) plain() bool {
	r := record{}
	p.canonical(r, "readiness", canonicalInterval)
	return len(r) == 0
}

// probe compares probes key by key when there are two.
func (d *differ) probe(path string, old, new *Probe) {
	if old == nil || new == nil {
		d.text(path, formatProbe(old), formatProbe(new), EffectRoll)
		return
	}
	path += "."
	d.text(path+"path", old.Path, new.Path, EffectRoll)
	d.words(path+"exec", old.Exec, new.Exec)
	d.text(path+"grpc", formatGRPC(old), formatGRPC(new), EffectRoll)
	d.text(path+"port", formatCount(old.Port), formatCount(new.Port), EffectRoll)
	d.duration(path+"interval", old.Interval, new.Interval, EffectRoll)
	d.duration(path+"timeout", old.Timeout, new.Timeout, EffectRoll)
	d.text(path+"expected_status", cmp.Or(old.ExpectedStatus, DefaultExpected), cmp.Or(new.ExpectedStatus, DefaultExpected), EffectRoll)
	d.text(path+"failures", strconv.Itoa(cmp.Or(old.Failures, DefaultLivenessFailures)),
		strconv.Itoa(cmp.Or(new.Failures, DefaultLivenessFailures)), EffectRoll)
}

// surroundings compares what a container gets beside its program.
func (d *differ) surroundings(prefix string, old, new *Member) {
	d.text(prefix+"resources.memory", formatLimit(old.Resources.MemoryBytes, FormatBytes),
		formatLimit(new.Resources.MemoryBytes, FormatBytes), EffectRoll)
	d.text(prefix+"resources.cpu", formatLimit(old.Resources.MilliCPU, FormatMilliCPU),
		formatLimit(new.Resources.MilliCPU, FormatMilliCPU), EffectRoll)
	d.text(prefix+"resources.pids", formatCount(int(old.Resources.Pids)), formatCount(int(new.Resources.Pids)), EffectRoll)
	d.volumes(prefix, old.Volumes, new.Volumes)
	d.tmpfs(prefix, old.Tmpfs, new.Tmpfs)
	d.files(prefix, old.Files, new.Files)
	d.published(prefix, old.Publish, new.Publish)
	d.text(prefix+"user", old.User, new.User, EffectRoll)
	d.text(prefix+"working_dir", old.WorkingDir, new.WorkingDir, EffectRoll)
	d.text(prefix+"stop_signal", old.StopSignal, new.StopSignal, EffectRoll)
	d.flag(prefix+"init", old.Init, new.Init)
	d.flag(prefix+"read_only_root", old.ReadOnlyRoot, new.ReadOnlyRoot)
	d.flag(prefix+"hardened", old.Hardened, new.Hardened)
	d.words(prefix+"cap_add", old.CapAdd, new.CapAdd)
}

// volumes compares what is mounted at each path.
func (d *differ) volumes(prefix string, old, new []Volume) {
	path := func(v Volume) string { return v.Path }
	keyed(byKey(old, path), byKey(new, path), func(path string, before, after *Volume) {
		effect := EffectRoll
		if before != nil && after != nil {
			// Sharing is a promise about programs; the mount stays the same.
			a, b := *before, *after
			a.Shared, b.Shared = false, false
			if reflect.DeepEqual(a, b) {
				effect = EffectSettings
			}
		}
		d.add(prefix+"volumes["+path+"]", formatVolume(before), formatVolume(after), effect)
	})
}

func (d *differ) tmpfs(prefix string, old, new []Tmpfs) {
	path := func(t Tmpfs) string { return t.Path }
	keyed(byKey(old, path), byKey(new, path), func(path string, before, after *Tmpfs) {
		d.add(prefix+"tmpfs["+path+"]", formatTmpfs(before), formatTmpfs(after), EffectRoll)
	})
}

func (d *differ) files(prefix string, old, new []File) {
	path := func(f File) string { return f.Path }
	keyed(byKey(old, path), byKey(new, path), func(path string, before, after *File) {
		d.add(prefix+"files["+path+"]", formatFile(before), formatFile(after), EffectRoll)
	})
}

// published compares what each port of the host leads to.
func (d *differ) published(prefix string, old, new []PublishedPort) {
	// The width keeps the order of numbers among texts.
	key := func(p PublishedPort) string {
		if !p.Pinned() {
			return fmt.Sprintf("%05d%05d %s %s", 0, p.Port, p.Protocol, p.Address)
		}
		return fmt.Sprintf("%05d %s %s", p.HostPort, p.Protocol, p.Address)
	}
	keyed(byKey(old, key), byKey(new, key), func(_ string, before, after *PublishedPort) {
		d.add(prefix+"publish["+cmp.Or(before, after).where()+"]", formatPublished(before), formatPublished(after), EffectRoll)
	})
}

// dependencies compares what each service has to be waited for.
func (d *differ) dependencies(old, new []Dependency) {
	service := func(dep Dependency) string { return dep.Service }
	condition := func(dep *Dependency) string {
		if dep == nil {
			return ""
		}
		return string(dep.Condition)
	}
	keyed(byKey(old, service), byKey(new, service), func(service string, before, after *Dependency) {
		d.add("depends_on["+service+"]", condition(before), condition(after), EffectSettings)
	})
}

// members compares the inits or the sidecars of a group, each by its name.
func (d *differ) members(path string, old, new []Member) {
	names := func(list []Member, of []Member) []string {
		var names []string
		for _, m := range list {
			if slices.ContainsFunc(of, func(o Member) bool { return o.Name == m.Name }) {
				names = append(names, m.Name)
			}
		}
		return names
	}
	if before, after := names(old, new), names(new, old); !slices.Equal(before, after) {
		d.add(path, strings.Join(before, ", "), strings.Join(after, ", "), EffectRoll)
	}
	for i := range old {
		if !slices.ContainsFunc(new, func(m Member) bool { return m.Name == old[i].Name }) {
			d.member(path, &old[i], &Member{Name: old[i].Name})
		}
	}
	for i := range new {
		was := slices.IndexFunc(old, func(m Member) bool { return m.Name == new[i].Name })
		if was < 0 {
			d.member(path, &Member{Name: new[i].Name}, &new[i])
		} else {
			d.member(path, &old[was], &new[i])
		}
	}
}

// member compares two members of one name; one that is not there says nothing.
func (d *differ) member(path string, old, new *Member) {
	at := path + "[" + new.Name + "]."
	d.program(at, old, new)
	d.probes(at, old, new)
	d.surroundings(at, old, new)
	d.labels(at, old.Labels, new.Labels)
	d.words(at+"depends_on", old.DependsOn, new.DependsOn)
}
