package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Effect is what a change makes Berth do.
type Effect string

// The effects, the heaviest first.
const (
	EffectRoll     Effect = "roll"     // new containers take over from the old ones
	EffectScale    Effect = "scale"    // containers of the same release come or go
	EffectRoute    Effect = "route"    // the data plane routes differently
	EffectSettings Effect = "settings" // nothing now; the next rollout, stop or container heeds it
)

var effectOrder = []Effect{EffectRoll, EffectScale, EffectRoute, EffectSettings}

// FieldChange is one difference between two services.
type FieldChange struct {
	Path   string `json:"path"` // below the service: "env.DB", "volumes[/data]"
	Old    string `json:"old"`  // for people; "" where there was none
	New    string `json:"new"`  // for people; "" where there is none now
	Effect Effect `json:"effect"`
	// Private says that Old and New may be confidential, as the values of
	// variables often are: show them only to who asks for them.
	Private bool `json:"private,omitempty"`
}

// String is the change in a line, without values that may be confidential.
func (c FieldChange) String() string {
	switch {
	case c.Private && c.Old == "":
		return c.Path + ": added"
	case c.Private && c.New == "":
		return c.Path + ": removed"
	case c.Private:
		return c.Path + ": changed"
	case c.Old == "":
		return c.Path + ": added " + c.New
	case c.New == "":
		return c.Path + ": removed " + c.Old
	}
	return c.Path + ": " + c.Old + " → " + c.New
}

// Heaviest is the heaviest effect among changes, "" for none.
func Heaviest(changes []FieldChange) Effect {
	for _, effect := range effectOrder {
		if slices.ContainsFunc(changes, func(c FieldChange) bool { return c.Effect == effect }) {
			return effect
		}
	}
	return ""
}

// Diff lists what differs from old to new, in the order of app.yaml. A nil old
// is a service that says nothing. The same tag can come to name another image;
// that is no difference of the specs and not seen here.
func Diff(old, new *Service) []FieldChange {
	if old == nil {
		empty := newService("")
		old = &empty
	}
	if new == nil {
		empty := newService("")
		new = &empty
	}
	var d differ
	d.text("image", old.Image, new.Image, EffectRoll)
	if !slices.Equal(old.Command, new.Command) {
		d.add("command", formatCommand(old.Command), formatCommand(new.Command), EffectRoll)
	}
	d.env(old.Env, new.Env)
	d.text("port", formatCount(old.Port), formatCount(new.Port), EffectRoll)
	d.text("domains", strings.Join(old.Domains, ", "), strings.Join(new.Domains, ", "), EffectRoute)
	d.text("path", orRoot(old.Path), orRoot(new.Path), EffectRoute)
	d.text("replicas", strconv.Itoa(old.Replicas), strconv.Itoa(new.Replicas), EffectScale)
	d.text("strategy", string(old.Strategy), string(new.Strategy), EffectSettings)
	d.readiness(old.Readiness, new.Readiness)
	d.duration("health.ready_timeout", old.ReadyTimeout, new.ReadyTimeout, EffectSettings)
	d.duration("stable_window", old.StableWindow, new.StableWindow, EffectSettings)
	d.duration("drain_timeout", old.DrainTimeout, new.DrainTimeout, EffectRoute)
	d.duration("stop_grace", old.StopGrace, new.StopGrace, EffectSettings)
	d.duration("hold_timeout", old.HoldTimeout, new.HoldTimeout, EffectRoute)
	d.duration("keep_previous", old.KeepPrevious, new.KeepPrevious, EffectSettings)
	d.text("resources.memory", formatLimit(old.Resources.MemoryBytes, FormatBytes),
		formatLimit(new.Resources.MemoryBytes, FormatBytes), EffectRoll)
	d.text("resources.cpu", formatLimit(old.Resources.MilliCPU, FormatMilliCPU),
		formatLimit(new.Resources.MilliCPU, FormatMilliCPU), EffectRoll)
	d.volumes(old.Volumes, new.Volumes)
	d.published(old.Publish, new.Publish)
	d.labels(old.Labels, new.Labels)
	return d.changes
}

// differ collects changes.
type differ struct{ changes []FieldChange }

func (d *differ) text(path, old, new string, effect Effect) {
	if old != new {
		d.add(path, old, new, effect)
	}
}

func (d *differ) add(path, old, new string, effect Effect) {
	d.changes = append(d.changes, FieldChange{Path: path, Old: old, New: new, Effect: effect})
}

func (d *differ) duration(path string, old, new time.Duration, effect Effect) {
	if old != new {
		d.text(path, FormatDuration(old), FormatDuration(new), effect)
	}
}

// keyed compares two maps key by key, in the order of the keys.
func keyed[K ~string | ~int, V comparable](old, new map[K]V, each func(key K, old, new *V)) {
	keys := map[K]bool{}
	for key := range old {
		keys[key] = true
	}
	for key := range new {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		before, had := old[key]
		after, has := new[key]
		switch {
		case had && has && before == after:
		case had && has:
			each(key, &before, &after)
		case had:
			each(key, &before, nil)
		default:
			each(key, nil, &after)
		}
	}
}

func (d *differ) env(old, new []EnvVar) {
	byName := func(env []EnvVar) map[string]string {
		m := make(map[string]string, len(env))
		for _, e := range env {
			m[e.Name] = e.Value
		}
		return m
	}
	keyed(byName(old), byName(new), func(name string, before, after *string) {
		d.changes = append(d.changes, FieldChange{Path: join("env", name), Old: formatText(before), New: formatText(after),
			Effect: EffectRoll, Private: true})
	})
}

func (d *differ) labels(old, new map[string]string) {
	keyed(old, new, func(key string, before, after *string) {
		d.add(join("labels", key), formatText(before), formatText(after), EffectSettings)
	})
}

// readiness compares the probes key by key when there are two.
func (d *differ) readiness(old, new *Probe) {
	if old == nil || new == nil {
		d.text("health.readiness", formatProbe(old), formatProbe(new), EffectRoll)
		return
	}
	const path = "health.readiness."
	d.text(path+"path", old.Path, new.Path, EffectRoll)
	d.text(path+"port", formatCount(old.Port), formatCount(new.Port), EffectRoll)
	d.duration(path+"interval", old.Interval, new.Interval, EffectRoll)
	d.duration(path+"timeout", old.Timeout, new.Timeout, EffectRoll)
	d.text(path+"expected_status", old.ExpectedStatus, new.ExpectedStatus, EffectRoll)
}

// volumes compares what is mounted at each path.
func (d *differ) volumes(old, new []Volume) {
	byPath := func(volumes []Volume) map[string]Volume {
		m := make(map[string]Volume, len(volumes))
		for _, v := range volumes {
			m[v.Path] = v
		}
		return m
	}
	keyed(byPath(old), byPath(new), func(path string, before, after *Volume) {
		effect := EffectRoll
		if before != nil && after != nil {
			// Sharing is a promise about programs; the mount stays the same.
			a, b := *before, *after
			a.Shared, b.Shared = false, false
			if a == b {
				effect = EffectSettings
			}
		}
		d.add("volumes["+path+"]", formatVolume(before), formatVolume(after), effect)
	})
}

// published compares what each port of the host leads to.
func (d *differ) published(old, new []PublishedPort) {
	byHost := func(ports []PublishedPort) map[int]PublishedPort {
		m := make(map[int]PublishedPort, len(ports))
		for _, p := range ports {
			m[p.HostPort] = p
		}
		return m
	}
	keyed(byHost(old), byHost(new), func(port int, before, after *PublishedPort) {
		d.add(fmt.Sprintf("publish[%d]", port), formatPublished(before), formatPublished(after), EffectRoll)
	})
}
