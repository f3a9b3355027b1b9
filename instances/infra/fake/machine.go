package fake

import (
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// machine is one machine and the instants of its life.
type machine struct {
	inst      infra.Instance
	subnet    string
	runsAt    time.Time
	forced    infra.Status // until it is deleted
	partial   bool         // a delete was accepted and left it stopped
	deletedAt time.Time    // zero until then
	goneAt    time.Time
}

// status is what it is in at an instant.
func (m *machine) status(now time.Time) infra.Status {
	switch {
	case m.goneBy(now):
		return infra.StatusDeleted
	case m.partial:
		return infra.StatusStopped
	case !m.deletedAt.IsZero() && !now.Before(m.deletedAt):
		return infra.StatusDeleting
	case m.forced != "":
		return m.forced
	case now.Before(m.runsAt):
		return infra.StatusPending
	}
	return infra.StatusRunning
}

func (m *machine) goneBy(now time.Time) bool {
	return !m.deletedAt.IsZero() && !m.partial && !now.Before(m.goneAt)
}

// seen is what somebody who looks at an instant gets.
func (m *machine) seen(now time.Time) infra.Instance {
	inst := m.inst.Clone()
	inst.Status = m.status(now)
	if inst.Status == infra.StatusPending {
		inst.PrivateIPv4, inst.Hostname = "", ""
	}
	return inst
}

// foundBy says whether a look-up finds it: until it is gone, and for a while as
// deleted.
func (m *machine) foundBy(now time.Time, lingers time.Duration) bool {
	return !m.goneBy(now) || now.Before(m.goneAt.Add(lingers))
}
