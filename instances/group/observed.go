package group

import (
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// Observed is all that a decision about a group is made of.
type Observed struct {
	Now time.Time
	// Since is when this process began to lead.
	Since   time.Time
	Want    Want
	Timing  Timing
	Launch  LaunchState
	Members []Member
	// Blind: of some that seem to leave it is not known whether they do. Nothing is
	// decided about numbers then.
	Blind bool
}

// Want is what a group is to be.
type Want struct {
	// Absent: the configuration says that there is no such group.
	Absent bool
	Size   int
	// Hash is that of what a machine is made of; empty is unknown.
	Hash string
	// DrainTimeout is how long a machine drains; 0 is no drain.
	DrainTimeout time.Duration
}

// Timing are the shard's deadlines; 0 is no deadline.
type Timing struct {
	Health       time.Duration // between two signs of life
	Launch       time.Duration
	Registration time.Duration // from the end of Launch; with the slack for clocks
	EligibleAge  time.Duration
	ForcedAge    time.Duration
	OnDemandAge  time.Duration
	Retry        time.Duration // between two tries of the same
}

// LaunchState is how launches went.
type LaunchState struct {
	// Failures in a row, the last one for Reason, and no launch before NotBefore.
	Failures  int
	Reason    string
	NotBefore time.Time
}

// Member is a machine of a group. Its zero times are unknown.
type Member struct {
	ID       string
	OnDemand bool

	CreatedAt    time.Time
	RegisteredAt time.Time
	HeardAt      time.Time
	// LostAt is when it was seen first that nothing is heard of it any more.
	LostAt time.Time
	// Named: the provider told its id of the machine.
	Named bool
	// Hash is that of what it was made of; empty is unknown.
	Hash string

	// Leaving: its record says that it has to go.
	Leaving bool
	// Gone: the provider said so, twice.
	Gone bool
	// Provider is what the provider says now; empty when it was not asked.
	Provider infra.Status
	// Noticed: it is going to be taken away, at NoticeAt if that is known.
	Noticed  bool
	NoticeAt time.Time
	// Asked: somebody wants it to be replaced.
	Asked bool
	// Unregistered: its record was read, and said that it has not registered.
	Unregistered bool
	// Unclear: it is not known whether it has a record. It counts, and is left alone.
	Unclear bool

	DrainingSince time.Time
	Drained       bool

	// Held says why it must stay; nil is not known yet.
	Held *string
	// RetryAt is when the next try of a removal is due.
	RetryAt time.Time
}

func (m *Member) registered() bool { return !m.RegisteredAt.IsZero() }
func (m *Member) draining() bool   { return !m.DrainingSince.IsZero() }

// stage is where a member stands in its life.
type stage int

const (
	stagePending stage = iota // perhaps there is a machine
	stageComing               // there is, and it has not registered yet
	stageLate                 // it has not, and cannot any more
	stageUnheard              // registered, and not heard of yet
	stageReady
	stageSilent   // it was not heard of for too long
	stageBroken   // the provider says that it does not run
	stageDraining // it is being drained in order to go
	stageDoomed   // it is being taken away
	stageGone
	stageLeaving // its record says so
)

// stageOf is decided by the phases, in their order: what ends a life goes first.
func (o *Observed) stageOf(m *Member) stage {
	switch {
	case m.Leaving:
		return stageLeaving
	case m.Gone:
		return stageGone
	case o.doomed(m):
		return stageDoomed
	case m.draining():
		return stageDraining
	case !m.registered():
		return o.arrival(m)
	}
	return o.health(m)
}

// stays reports whether a machine at this stage counts for the size of its group.
func (s stage) stays() bool {
	switch s {
	case stageLate, stageDraining, stageDoomed, stageGone, stageLeaving:
		return false
	}
	return true
}

// comes reports whether it is still to be seen what becomes of it.
func (s stage) comes() bool { return s == stagePending || s == stageComing || s == stageUnheard }
