package group

import (
	"cmp"
	"slices"
	"time"
)

// ActionKind is what is to be done.
type ActionKind string

// The kinds.
const (
	Launch ActionKind = "launch" // make a machine
	Resume ActionKind = "resume" // go on with a create whose outcome is not known
	Drain  ActionKind = "drain"  // empty it until the deadline
	Remove ActionKind = "remove"
)

// Action is one thing to do.
type Action struct {
	Kind     ActionKind
	ID       string // of the machine; empty for Launch
	Deadline time.Time
	Why      string
	// Failed: that it has to be done shows that launches do not work.
	Failed bool
}

// Decision is what follows from what was observed.
type Decision struct {
	Actions []Action
	// Ask are machines of which it has to be known whether they hold anything; plan
	// again when it is.
	Ask []string
	// Next is when to look again; zero is when something happens.
	Next time.Time
	// Summary is the state of the group in numbers and reasons.
	Summary Summary
}

// Summary is what conditions are made of.
type Summary struct {
	Size, Staying, Ready, Coming, Unhealthy, Draining, Leaving int
	// Stale are machines that are to be replaced, and Why the first one is.
	Stale int
	Why   string
	// Held are the reasons for which machines stay, by their ids.
	Held map[string]string
}

// pollInterval is how often what takes a while is looked at.
const pollInterval = 5 * time.Second

// decider makes one decision.
type decider struct {
	*Observed
	all     []*Member // the oldest first
	stage   map[string]stage
	staying []*Member // managed ones, the oldest first
	drains  int       // managed ones that drain
	late    int       // that never came
	leaving int       // that are not wanted any more, and perhaps there
	out     Decision
}

// Plan decides what is to be done. It has no effect, and decides the same about the same.
func Plan(o Observed) Decision {
	if o.Want.Absent {
		o.Want.Size = 0
	}
	d := &decider{Observed: &o, stage: map[string]stage{}}
	d.out.Summary.Held = map[string]string{}
	for i := range o.Members {
		d.all = append(d.all, &o.Members[i])
	}
	slices.SortStableFunc(d.all, func(a, b *Member) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	for _, m := range d.all {
		s := o.stageOf(m)
		d.stage[m.ID] = s
		if s.stays() && !m.OnDemand {
			d.staying = append(d.staying, m)
		}
	}
	d.terminate()
	d.onDemand()
	d.balance()
	d.resume()
	d.sum()
	d.times()
	return d.out
}

func (d *decider) do(a Action) { d.out.Actions = append(d.out.Actions, a) }

// wake asks for another look at a time.
func (d *decider) wake(at time.Time) {
	if at.IsZero() {
		return
	}
	if !at.After(d.Now) {
		at = d.Now.Add(time.Second)
	}
	if d.out.Next.IsZero() || at.Before(d.out.Next) {
		d.out.Next = at
	}
}

// held says why a machine must stay. While it is not known, it must.
func (d *decider) held(m *Member) string {
	if m.Held == nil {
		if !slices.Contains(d.out.Ask, m.ID) {
			d.out.Ask = append(d.out.Ask, m.ID)
		}
		return "it is being asked"
	}
	return *m.Held
}

// waits keeps for the conditions that a machine should go and must stay.
func (d *decider) waits(m *Member) {
	d.out.Summary.Held[m.ID] = d.held(m)
	d.wake(d.Now.Add(6 * pollInterval))
}

// balance brings the number of machines to what is wanted, one above it for a rotation.
func (d *decider) balance() {
	if d.Blind {
		d.wake(d.Now.Add(time.Second))
		return
	}
	switch surplus := len(d.staying) - d.Want.Size; {
	case surplus > 0:
		d.shrink(surplus)
	case surplus < 0:
		d.launch(min(-surplus, d.Want.Size+1-len(d.staying)-d.drains-d.late))
	default:
		d.rotate()
	}
}

// onDemand looks after machines that somebody asked for one by one: they are never
// replaced, and go when they are too old.
func (d *decider) onDemand() {
	for _, m := range d.all {
		if !m.OnDemand || !d.stage[m.ID].stays() || !d.older(m, d.Timing.OnDemandAge) || d.Want.Absent {
			continue
		}
		if d.held(m) != "" {
			d.waits(m)
			continue
		}
		d.drain(m, "it is older than machines on demand may be")
	}
}

// sum counts.
func (d *decider) sum() {
	s := &d.out.Summary
	s.Size, s.Staying, s.Draining, s.Leaving = d.Want.Size, len(d.staying), d.drains, d.leaving
	for _, m := range d.staying {
		switch stage := d.stage[m.ID]; {
		case stage == stageReady:
			s.Ready++
		case stage.comes():
			s.Coming++
		default:
			s.Unhealthy++
		}
		if r := d.reason(m); r != reasonNone {
			s.Stale++
			if s.Why == "" {
				s.Why = r.text()
			}
		}
	}
}

// times asks for a look when a deadline of a machine is over.
func (d *decider) times() {
	for _, m := range d.all {
		s := d.stage[m.ID]
		switch {
		case s == stagePending || s == stageComing:
			if !m.OnDemand {
				d.wake(d.Now.Add(pollInterval))
			}
		case s == stageUnheard, s == stageReady && !m.LostAt.IsZero():
			d.wake(d.Now.Add(pollInterval)) // it may come back, and for a moment only
		case s == stageReady:
			d.wake(d.silentAt(m).Add(time.Second))
		case s == stageSilent, s == stageBroken:
			d.wake(d.Now.Add(max(d.Timing.Health/2, pollInterval)))
		}
		if s.stays() && m.registered() {
			d.wake(d.nextAge(m))
		}
	}
}
