package shard

import (
	"time"

	"github.com/berth-cloud/berth/instances/group"
)

// LookedAtSince reports whether every group was looked at after a time.
func (s *Shard) LookedAtSince(at time.Time) bool {
	t := s.turn.Load()
	if t == nil {
		return false
	}
	conf := s.opts.Loader.Current()
	for _, key := range conf.GroupKeys() {
		out, ok := t.engine.Results(group.Key(key.Tenant, key.Group))
		if !ok || !out.Ended.After(at) {
			return false
		}
	}
	return true
}
