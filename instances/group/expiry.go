package group

import "time"

// older reports whether a machine has an age; 0 is never.
func (o *Observed) older(m *Member, age time.Duration) bool {
	return age > 0 && o.Now.Sub(m.CreatedAt) >= age
}

// nextAge is when a machine reaches the next of its ages; zero is never.
func (o *Observed) nextAge(m *Member) time.Time {
	ages := []time.Duration{o.Timing.EligibleAge, o.Timing.ForcedAge}
	if m.OnDemand {
		ages = []time.Duration{o.Timing.OnDemandAge}
	}
	var next time.Time
	for _, age := range ages {
		at := m.CreatedAt.Add(age)
		if age > 0 && at.After(o.Now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}
