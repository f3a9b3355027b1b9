package group

import "time"

// arrival is the stage of a machine that has not registered. A create whose answer was
// lost is asked for again until its launch deadline; the manager gives it up then.
func (o *Observed) arrival(m *Member) stage {
	if m.Unclear {
		return stagePending
	}
	if o.overdue(m) && m.Unregistered {
		return stageLate
	}
	if !m.Named {
		return stagePending
	}
	return stageComing
}

// registrationDeadline is when the machine's token is certainly over; zero is never.
func (o *Observed) registrationDeadline(m *Member) time.Time {
	if o.Timing.Registration == 0 {
		return time.Time{}
	}
	return m.CreatedAt.Add(o.Timing.Launch + o.Timing.Registration)
}

// overdue reports whether a machine should have registered; its record has the last word.
func (o *Observed) overdue(m *Member) bool {
	at := o.registrationDeadline(m)
	return !m.registered() && !at.IsZero() && o.Now.After(at)
}
