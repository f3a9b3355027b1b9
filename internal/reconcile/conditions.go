package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// unspecified is the reason of a condition that came without one.
const unspecified = "Unspecified"

// keepConditions gives the conditions of a pass their transition times and
// writes them to the store if they differ from what it has. It returns what the
// key's entry keeps; only the key's own worker calls it.
func (e *Engine) keepConditions(ent *entry, f *finding) last {
	e.mu.Lock()
	kept, stale := ent.last, ent.pass.stale
	e.mu.Unlock()
	if f.gone || stale {
		return last{}
	}
	conditions, err := repair(f.result.Conditions)
	if err != nil {
		e.log.Error("a controller returned malformed conditions", "controller", f.controller, "err", err)
		if e.cfg.Strict {
			f.err = errors.Join(f.err, err)
		}
	}
	if len(conditions) == 0 && f.err != nil && !kept.unsaved {
		return kept // it says nothing about the key: what stood still stands
	}
	if f.controller == "" {
		return kept
	}
	if f.controller != kept.controller {
		kept = last{controller: f.controller}
	}
	if !kept.loaded {
		e.load(&kept)
	}
	if len(conditions) > 0 || f.err == nil {
		merged, changed := transition(kept.conditions, conditions, e.cfg.Now().Round(0).UTC())
		kept.conditions, kept.unsaved = merged, kept.unsaved || changed
	}
	e.save(&kept)
	return kept
}

// load reads the conditions that were stored before this process started.
func (e *Engine) load(kept *last) {
	if e.cfg.Store == nil {
		kept.loaded = true
		return
	}
	err := e.store(func(ctx context.Context) (err error) {
		kept.conditions, err = e.cfg.Store.GetConditions(ctx, kept.controller)
		return err
	})
	if err != nil {
		e.log.Warn("stored conditions could not be read", "controller", kept.controller, "err", err)
		kept.conditions, kept.unsaved = nil, true
		return
	}
	kept.loaded, kept.unsaved = true, false
}

// save writes conditions the store has not got. What could not be read is not
// overwritten: its transition times would be lost.
func (e *Engine) save(kept *last) {
	if e.cfg.Store == nil {
		kept.unsaved = false
		return
	}
	if !kept.unsaved || !kept.loaded {
		return
	}
	err := e.store(func(ctx context.Context) error {
		return e.cfg.Store.UpsertConditions(ctx, kept.controller, slices.Clone(kept.conditions))
	})
	if err != nil {
		e.log.Warn("conditions could not be stored", "controller", kept.controller, "err", err)
		return
	}
	kept.unsaved = false
}

// store makes one bounded call, also when the pass's own context has ended: the
// pass happened, and what it found is worth keeping.
func (e *Engine) store(call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.base), storeTimeout)
	defer cancel()
	return guard(func() error { return call(ctx) })
}

// repair returns conditions that keep the contract, and an error that names each
// that did not. Of two with one type the later stands.
func repair(in []Condition) ([]Condition, error) {
	var faults []error
	fault := func(c Condition, what string) {
		faults = append(faults, fmt.Errorf("%w: %q %s", ErrMalformed, c.Type, what))
	}
	out := make([]Condition, 0, len(in))
	for _, c := range in {
		if c.Type == "" {
			fault(c, "has no type and is dropped")
			continue
		}
		if c.Reason == "" {
			fault(c, "has no reason")
			c.Reason = unspecified
		}
		if c.Status != True && c.Status != False && c.Status != Unknown {
			fault(c, fmt.Sprintf("has the status %q", c.Status))
			c.Status = Unknown
		}
		if i := indexOf(out, c.Type); i >= 0 {
			fault(c, "is there twice")
			out[i] = c
			continue
		}
		out = append(out, c)
	}
	return out, errors.Join(faults...)
}

// transition gives each condition the time since which its status and reason
// stand. changed is false, and before is returned, when nothing but times and
// order differ.
func transition(before, after []Condition, now time.Time) (merged []Condition, changed bool) {
	changed = len(before) != len(after)
	for i := range after {
		c := &after[i]
		c.LastTransitionTime = now
		j := indexOf(before, c.Type)
		if j < 0 {
			changed = true
			continue
		}
		old := before[j]
		if old.Status == c.Status && old.Reason == c.Reason {
			c.LastTransitionTime = old.LastTransitionTime
		}
		changed = changed || old.Status != c.Status || old.Reason != c.Reason || old.Message != c.Message
	}
	if !changed {
		return before, false
	}
	return after, true
}

func indexOf(conditions []Condition, typ string) int {
	return slices.IndexFunc(conditions, func(c Condition) bool { return c.Type == typ })
}
