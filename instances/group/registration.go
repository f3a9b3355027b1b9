package group

import "time"

// arrival is the stage of a machine that has not registered. A create whose answer was
// lost is asked for again until its launch deadline; the manager gives it up then.
func (o *Observed) arrival(m *Member) stage {
	if m.Unclear {
		return stagePending
	}
	if at := o.registrationDeadline(m); !at.IsZero() && o.Now.After(at) {
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
