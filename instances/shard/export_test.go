package shard

import (
	"context"
	"time"

	"github.com/berth-cloud/berth/instances/group"
)

// LookedAtSince has every group looked at, and reports whether each was after a time.
func (s *Shard) LookedAtSince(ctx context.Context, at time.Time) bool {
	t := s.turn.Load()
	if t == nil {
		return false
	}
	conf := s.opts.Loader.Current()
	for _, key := range conf.GroupKeys() {
		out, ok := t.engine.Results(group.Key(key.Tenant, key.Group))
		if !ok || !out.Ended.After(at) {
			t.wakeAll(ctx)
			return false
		}
	}
	return true
}

// History is what is kept of a machine.
type History struct{ history }

// Note keeps an event.
func (h *History) Note(id string, e Event) { h.note(id, e) }

// Events are those that are kept.
func (h *History) Events(id string) []Event { return h.events(id) }

// The bounds.
const (
	MaxHistories = maxHistories
	MaxEvents    = maxEvents
)
