package group

import (
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// doomed reports whether a machine is being taken away, whatever anybody wants.
func (o *Observed) doomed(m *Member) bool {
	return m.Noticed || m.Provider == infra.StatusDeleting && !o.heard(m)
}

// drainDeadline is when a machine that drains goes, whether it is empty or not.
func (o *Observed) drainDeadline(m *Member) time.Time {
	since := m.DrainingSince
	if since.IsZero() {
		since = o.Now
	}
	at := since.Add(o.Want.DrainTimeout)
	if m.Noticed && !m.NoticeAt.IsZero() && m.NoticeAt.Before(at) {
		at = m.NoticeAt
	}
	return at
}

// drain goes on with a machine that has to go: it is drained, and then it goes.
func (d *decider) drain(m *Member, why string) {
	switch {
	case !m.draining():
		d.do(Action{Kind: Drain, ID: m.ID, Deadline: d.drainDeadline(m), Why: why})
	case !m.Drained && !d.idle(m) && d.Now.Before(d.drainDeadline(m)):
		d.wake(d.drainDeadline(m))
		d.wake(d.Now.Add(pollInterval))
		d.do(Action{Kind: Drain, ID: m.ID, Deadline: d.drainDeadline(m), Why: why})
	case d.held(m) != "":
		d.waits(m)
	default:
		d.remove(m, why)
	}
}

// idle reports whether nothing can run on a machine.
func (d *decider) idle(m *Member) bool { return m.Provider.Unhealthy() && !d.heard(m) }
