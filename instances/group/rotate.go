package group

import (
	"cmp"
	"slices"
)

// reason is why a machine is to be replaced, the most urgent one first.
type reason int

const (
	reasonNone reason = iota
	reasonBroken
	reasonSilent
	reasonAsked
	reasonForced
	reasonDrift
	reasonEligible
)

func (r reason) text() string {
	return [...]string{
		"", "the provider says that it does not run", "it was not heard of for too long", "somebody asked for it",
		"it is older than it may be", "its group is made of something else now", "it is old",
	}[r]
}

// reason is why a machine that has registered is to be replaced.
func (d *decider) reason(m *Member) reason {
	switch s := d.stage[m.ID]; {
	case s == stageBroken:
		return reasonBroken
	case s == stageSilent:
		return reasonSilent
	case !m.registered():
		return reasonNone
	case m.Asked:
		return reasonAsked
	case d.older(m, d.Timing.ForcedAge):
		return reasonForced
	case d.drifted(m):
		return reasonDrift
	case d.older(m, d.Timing.EligibleAge):
		return reasonEligible
	}
	return reasonNone
}

// candidate is the machine that is to be replaced next, the most urgent one that need
// not stay; nil is none.
func (d *decider) candidate() *Member {
	all := slices.DeleteFunc(slices.Clone(d.staying), func(m *Member) bool { return d.reason(m) == reasonNone })
	slices.SortStableFunc(all, func(a, b *Member) int { return cmp.Compare(d.reason(a), d.reason(b)) })
	for _, m := range all {
		if d.held(m) == "" {
			return m
		}
		d.waits(m)
	}
	return nil
}

// rotate makes one machine more when one is to be replaced and the group is otherwise
// at rest. The one that is replaced goes when there is one too many.
func (d *decider) rotate() {
	if d.drains > 0 || !d.settled() {
		return
	}
	m := d.candidate()
	if m == nil {
		return
	}
	why := d.reason(m)
	if why > reasonSilent && d.leaving > 0 || !d.mayLaunch() {
		return // one after another; what has failed need not wait for what leaves
	}
	d.do(Action{Kind: Launch, Why: "to replace " + m.ID + ": " + why.text()})
}

// settled reports whether it is known of all machines what has become of them.
func (d *decider) settled() bool {
	for _, m := range d.staying {
		if d.stage[m.ID].comes() {
			return false
		}
	}
	return true
}

// shrink lets go of machines that are too many. One that serves goes only when of all
// others that stay it is known what has become of them; and while one has yet to be heard
// of, none goes, for that may be the one that another was made to replace.
func (d *decider) shrink(surplus int) {
	if d.Want.Size > 0 && slices.ContainsFunc(d.staying, func(m *Member) bool { return d.stage[m.ID] == stageUnheard }) {
		return
	}
	victims := d.victims(surplus)
	comes := false
	for _, m := range d.staying {
		comes = comes || d.stage[m.ID].comes() && !slices.Contains(victims, m)
	}
	for _, m := range victims {
		why := "there are too many"
		if r := d.reason(m); r != reasonNone {
			why = r.text()
		}
		switch {
		case m.Unclear:
			d.wake(d.Now.Add(pollInterval))
		case !m.registered():
			d.remove(m, why)
		case !comes:
			d.drain(m, why)
		}
	}
}

// victims are those that go, in the order of rank, and by age within: the oldest first,
// but of those that were never heard of the newest, which was to replace another.
func (d *decider) victims(n int) []*Member {
	replacing := slices.ContainsFunc(d.staying, func(m *Member) bool { return d.reason(m) != reasonNone })
	ranked := slices.Clone(d.staying)
	slices.SortStableFunc(ranked, func(a, b *Member) int {
		ra, rb := d.rank(a, replacing), d.rank(b, replacing)
		if ra == rb && ra == rankUnheard {
			return b.CreatedAt.Compare(a.CreatedAt)
		}
		return cmp.Compare(ra, rb)
	})
	var all []*Member
	for _, m := range ranked {
		if len(all) == n {
			break
		}
		if m.registered() && d.held(m) != "" {
			d.waits(m)
			continue
		}
		all = append(all, m)
	}
	return all
}

// The ranks of victims.
const (
	rankUseless  = iota // not there yet, and of the wrong kind
	rankUnheard         // registered and never heard of in its time
	rankReplaced        // plus its reason
	rankComing   = rankReplaced + int(reasonEligible) + 1
	rankGood     = rankComing + 1
	rankNeeded   = rankGood + 1 // not there yet, and replaces another
)

func (d *decider) rank(m *Member, replacing bool) int {
	r := d.reason(m)
	switch {
	case !m.registered() && d.drifted(m):
		return rankUseless
	case r == reasonSilent && m.HeardAt.IsZero():
		return rankUnheard
	case r != reasonNone:
		return rankReplaced + int(r)
	case !m.registered() && replacing:
		return rankNeeded
	case !m.registered():
		return rankComing
	}
	return rankGood
}
