package group

import "time"

// missed is how many signs of life may be missed.
const missed = 3

// health is the stage of a machine that has registered. What it says itself goes before
// what the provider says of it.
func (o *Observed) health(m *Member) stage {
	if o.heard(m) {
		return stageReady
	}
	if m.Provider.Unhealthy() {
		return stageBroken
	}
	if o.Timing.Health > 0 && o.Now.After(o.silentAt(m)) {
		return stageSilent
	}
	return stageUnheard
}

// heard reports whether it was heard of lately.
func (o *Observed) heard(m *Member) bool {
	return !m.HeardAt.IsZero() && o.Now.Sub(m.HeardAt) <= missed*o.Timing.Health
}

// silentAt is when a machine counts as silent: from its registration when it was never
// heard of, and from the beginning of this term, or from when that was seen, if later.
func (o *Observed) silentAt(m *Member) time.Time {
	return o.lastSign(m).Add(missed * o.Timing.Health)
}

func (o *Observed) lastSign(m *Member) time.Time {
	last := o.Since
	for _, at := range []time.Time{m.RegisteredAt, m.HeardAt, m.LostAt} {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// suspicious reports whether the provider should be asked about a machine.
func (o *Observed) suspicious(m *Member) bool {
	return m.registered() && o.Now.Sub(o.lastSign(m)) > o.Timing.Health
}
