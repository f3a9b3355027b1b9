package spec

import (
	"maps"
	"reflect"
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
	EffectPlace    Effect = "place"    // new containers of the same make take over, where they may be elsewhere
	EffectScale    Effect = "scale"    // containers of the same release come or go
	EffectRoute    Effect = "route"    // the data plane routes differently
	EffectSettings Effect = "settings" // nothing now; the next rollout, stop or container heeds it
)

var effectOrder = []Effect{EffectRoll, EffectPlace, EffectScale, EffectRoute, EffectSettings}

// FieldChange is one difference between two services.
type FieldChange struct {
	Path   string `json:"path"` // below the service: "env.DB", "volumes[/data]", "inits[migrate].image"
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
	before, after := old.Main(), new.Main()
	d.program("", &before, &after)
	d.text("domains", strings.Join(old.Domains, ", "), strings.Join(new.Domains, ", "), EffectRoute)
	d.text("path", orRoot(old.Path), orRoot(new.Path), EffectRoute)
	d.text("replicas", strconv.Itoa(old.Replicas), strconv.Itoa(new.Replicas), EffectScale)
	d.text("strategy", string(old.Strategy), string(new.Strategy), EffectSettings)
	d.text("max_surge", string(old.MaxSurge), string(new.MaxSurge), EffectSettings)
	d.text("max_unavailable", string(old.MaxUnavailable), string(new.MaxUnavailable), EffectSettings)
	d.text("restart", formatRestart(old.Restart), formatRestart(new.Restart), EffectRoll)
	d.duration("completion_timeout", old.CompletionTimeout, new.CompletionTimeout, EffectSettings)
	d.dependencies(old.DependsOn, new.DependsOn)
	d.duration("depends_timeout", old.DependsTimeout, new.DependsTimeout, EffectSettings)
	d.probes("", &before, &after)
	d.duration("health.ready_timeout", old.ReadyTimeout, new.ReadyTimeout, EffectSettings)
	d.duration("stable_window", old.StableWindow, new.StableWindow, EffectSettings)
	d.duration("drain_timeout", old.DrainTimeout, new.DrainTimeout, EffectRoute)
	d.duration("stop_grace", old.StopGrace, new.StopGrace, EffectSettings)
	d.duration("hold_timeout", old.HoldTimeout, new.HoldTimeout, EffectRoute)
	d.duration("keep_previous", old.KeepPrevious, new.KeepPrevious, EffectSettings)
	d.surroundings("", &before, &after)
	d.labels("", old.Labels, new.Labels)
	d.members("inits", old.Inits, new.Inits)
	d.members("sidecars", old.Sidecars, new.Sidecars)
	d.words("after", old.SidecarsFirst, new.SidecarsFirst)
	d.text("alias", old.Alias, new.Alias, EffectRoll)
	d.flag("stateful", old.Stateful, new.Stateful)
	d.placement(old.Placement, new.Placement)
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

// words compares lists whose order means something.
func (d *differ) words(path string, old, new []string) {
	if !slices.Equal(old, new) {
		d.add(path, formatCommand(old), formatCommand(new), EffectRoll)
	}
}

func (d *differ) flag(path string, old, new bool) {
	d.text(path, formatFlag(old), formatFlag(new), EffectRoll)
}

func (d *differ) duration(path string, old, new time.Duration, effect Effect) {
	if old != new {
		d.text(path, FormatDuration(old), FormatDuration(new), effect)
	}
}

// byKey is a list by what tells its elements apart.
func byKey[K comparable, V any](list []V, key func(V) K) map[K]V {
	m := make(map[K]V, len(list))
	for _, v := range list {
		m[key(v)] = v
	}
	return m
}

// keyed compares two maps key by key, in the order of the keys.
func keyed[K ~string | ~int, V any](old, new map[K]V, each func(key K, old, new *V)) {
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
		case had && has && reflect.DeepEqual(before, after):
		case had && has:
			each(key, &before, &after)
		case had:
			each(key, &before, nil)
		default:
			each(key, nil, &after)
		}
	}
}
