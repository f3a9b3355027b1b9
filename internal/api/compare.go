package api

import (
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/wire"
)

// fieldChanges lists what differs, without the values of variables.
func fieldChanges(old, wanted *spec.Service) []wire.FieldChange {
	var out []wire.FieldChange
	for _, c := range spec.Diff(old, wanted) {
		f := wire.FieldChange{Field: c.Path, Old: c.Old, New: c.New, Private: c.Private}
		if c.Private {
			f.Old, f.New = hide(c.Old), hide(c.New)
		}
		out = append(out, f)
	}
	return out
}

func hide(value string) string {
	if value == "" {
		return ""
	}
	return wire.HiddenValue
}

// changeAction is what a change of a service comes to.
func changeAction(old, wanted *spec.Service) wire.Action {
	switch spec.Heaviest(spec.Diff(old, wanted)) {
	case spec.EffectRoll:
		return wire.ActionUpdate
	case spec.EffectPlace:
		if movable(wanted) {
			return wire.ActionUpdate
		}
		return wire.ActionRoute
	case spec.EffectScale:
		return wire.ActionScale
	case spec.EffectRoute, spec.EffectSettings:
		return wire.ActionRoute
	}
	return wire.ActionUnchanged
}

// interruptions says how users feel a change from what runs to what is wanted.
func interruptions(running, wanted *spec.Service) []wire.Interruption {
	var out []wire.Interruption
	for _, i := range spec.Interrupts(running, wanted) {
		out = append(out, wire.Interruption{Kind: string(i.Kind), Why: i.Why})
	}
	return out
}

// handover says how users feel that containers of the same spec are replaced,
// as happens when an image was looked up again.
func handover(wanted *spec.Service) []wire.Interruption {
	why := spec.Handover(wanted)
	if why == "" {
		return nil
	}
	return []wire.Interruption{{Kind: string(spec.InterruptHandover), Why: why}}
}
