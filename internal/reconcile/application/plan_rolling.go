package application

import (
	"cmp"
	"slices"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// rolls reports whether a change towards the release goes a few replicas at a
// time. Where a replica needs what its predecessor holds, nothing else can.
func (p *planner) rolls(goal *store.Release) bool {
	if r := p.w.ActiveRelease; r != nil && r.Spec.Completes() {
		return false // it has no replicas to replace
	}
	return p.w.Desired.Spec.Strategy == spec.Rolling || goal.Spec.ReplicaExclusive()
}

// mixed reports whether traffic goes to replicas of other releases too.
func (p *planner) mixed(r *store.Release) bool {
	return slices.ContainsFunc(p.w.Groups, func(g Group) bool { return p.w.target(g.Name) != nil && !g.matches(r) })
}

// rollOver replaces what serves by the goal's replicas, within the bounds of
// surge and unavailability. How far it is shows in the containers and in the
// active row, whose targets are of both releases meanwhile; so it goes on after
// a restart, turns round when it fails, and can be overtaken by another change.
func (p *planner) rollOver(goal *store.Release) int {
	w := p.w
	want := p.replicas(goal)
	whole := want
	if !p.isActive(goal) {
		whole = max(want, w.Active.Replicas) // what may yet fail takes nothing away
	}
	surge, unavailable := goal.Spec.RollingBounds(want)
	next, ok := p.rollFresh(goal, want)
	old := p.oldGroups(goal, want)
	if !ok {
		p.keepAll(old)
		return 0
	}
	fresh := next.ready
	missing, standing := p.rollMissing(goal)
	room := whole + surge - standing
	if len(missing) > 0 && standing == len(fresh) {
		room-- // for the next new one
	}
	kept := p.rollOlds(goal, old, want, whole, unavailable+len(fresh), room)
	if len(fresh) == want {
		if !p.isActive(goal) {
			p.cutOver(goal, sortTargets(fresh))
			return 0
		}
		kept = nil // traffic is back on the release that serves
	}
	p.rollBring(goal, old, whole+surge)
	row := *w.Active
	row.Targets = sortTargets(append(slices.Clone(fresh), kept...))
	if len(row.Targets) == 0 {
		row.Targets = sortTargets(next.limping) // half a replica is better than none
	}
	if p.isActive(goal) {
		row.Replicas = want // else it is the number that a failed change goes back to
	}
	p.setActive(row, whyRolling)
	if !p.isActive(goal) {
		p.progress(ReasonRollingOut, waitingFor(next.waiting))
	}
	return len(fresh)
}

// whyRolling marks a row on its way from one release to another.
const whyRolling = "replica by replica"

// newcomers is how far the goal's replicas are.
type newcomers struct {
	ready   []store.ActiveTarget
	limping []store.ActiveTarget // their main containers serve, and more is amiss
	waiting string               // what is waited for, a clause
}

// rollFresh takes the next steps of the goal's groups that stand and returns
// those that can take traffic. ok is false once the attempt has failed by one:
// until all of them serve, none is restarted by the engine, so that an end shows.
func (p *planner) rollFresh(goal *store.Release, want int) (out newcomers, ok bool) {
	for i := range want {
		g := p.w.group(goal, i)
		if g == nil {
			continue
		}
		stands, why, fine := p.rollOne(goal, g)
		if !fine {
			return newcomers{}, false
		}
		switch stands {
		case standsFull:
			out.ready = append(out.ready, targetOf(goal, g))
		case standsLimping:
			out.limping = append(out.limping, targetOf(goal, g))
		case standsDown:
		}
		out.waiting = cmp.Or(out.waiting, why)
	}
	return out, true
}

// rollOne takes the next steps of one of the goal's groups. One that takes
// traffic already may be amiss again: a change that comes a second time starts
// what has ended beside the main container.
func (p *planner) rollOne(goal *store.Release, g *Group) (stands stand, waiting string, ok bool) {
	p.wanted[g] = true
	if p.isActive(goal) {
		return p.sustain(goal, g), "", true
	}
	up, ok := false, true
	if p.blocked(goal, g.Replica) {
		p.recheck()
	} else {
		up, waiting, ok = p.advance(goal, g)
	}
	switch {
	case up:
		return standsFull, waiting, ok
	case p.serves(g):
		return standsLimping, waiting, ok
	}
	return standsDown, waiting, ok
}

// oldGroups are those that take traffic, or belong to what does, and are none of
// the replicas that the goal shall have; the first to go are last.
func (p *planner) oldGroups(goal *store.Release, want int) []*Group {
	var old []*Group
	for i := range p.w.Groups {
		g := &p.w.Groups[i]
		replaced := !g.matches(goal) || g.Replica >= want
		if replaced && (p.w.target(g.Name) != nil || g.matches(p.w.ActiveRelease)) {
			old = append(old, g)
		}
	}
	slices.SortStableFunc(old, func(a, b *Group) int {
		order := cmp.Or(cmp.Compare(rank(!a.away()), rank(!b.away())), cmp.Compare(rank(p.serves(a)), rank(p.serves(b))))
		if !goal.Spec.ReplicaExclusive() {
			order = cmp.Or(order, cmp.Compare(rank(a.Running()), rank(b.Running())))
		}
		return cmp.Or(order, cmp.Compare(a.Replica, b.Replica))
	})
	return old
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// rollOlds decides which of the old groups stay, where so many of the whole may
// be missing or are replaced, and so many groups may stand. A new replica that
// needs what its predecessor holds replaces that one and no other, so old ones
// that get no successor are counted by themselves.
func (p *planner) rollOlds(goal *store.Release, old []*Group, want, whole, less, room int) []store.ActiveTarget {
	if whole == want || !goal.Spec.ReplicaExclusive() {
		return p.rollOld(old, whole-less, room)
	}
	var beyond, rest []*Group
	for _, g := range old {
		if g.Replica >= want {
			beyond = append(beyond, g)
		} else {
			rest = append(rest, g)
		}
	}
	extra := whole - want
	return append(p.rollOld(beyond, extra, extra), p.rollOld(rest, want-less, room-extra)...)
}

// rollOld keeps as many of the old groups as are needed and returns those that
// take traffic; the others are let go. One that cannot serve is kept, and kept
// running, only while too few others can and there is room for it: it may come
// round by itself, and must not be in the way of what takes its place.
func (p *planner) rollOld(old []*Group, need, room int) []store.ActiveTarget {
	var kept []store.ActiveTarget
	for _, g := range old {
		if len(kept) >= need {
			break
		}
		serves := p.serves(g)
		if !serves && room <= 0 {
			continue
		}
		room--
		p.wanted[g] = true
		if r := p.w.ActiveRelease; g.matches(r) {
			// One that takes traffic already keeps it while anything beside its
			// main container is down: what replaces it is on its way.
			serves = p.sustain(r, g) != standsDown
		}
		if serves {
			kept = append(kept, p.targetAgain(g))
		}
	}
	return kept
}

// targetAgain is the group as it takes traffic, or as it does again.
func (p *planner) targetAgain(g *Group) store.ActiveTarget {
	if t := p.w.target(g.Name); t != nil {
		return *t
	}
	return targetOf(p.w.ActiveRelease, g)
}

// keepAll spares groups from being retired in a pass that decides nothing.
func (p *planner) keepAll(groups []*Group) {
	for _, g := range groups {
		p.wanted[g] = true
	}
}

// rollMissing are the goal's replicas that do not stand, the next one first, and
// how many do and may run.
func (p *planner) rollMissing(goal *store.Release) (missing []int, standing int) {
	for i := range p.replicas(goal) {
		switch {
		case p.w.group(goal, i) == nil:
			missing = append(missing, i)
		case !p.blocked(goal, i):
			standing++
		}
	}
	if goal.Spec.ReplicaExclusive() {
		slices.Reverse(missing) // the last one first, as it is let go first
	}
	return missing, standing
}

// rollBring makes the next replicas of the goal as far as there is room beside
// what stands.
func (p *planner) rollBring(goal *store.Release, old []*Group, room int) {
	missing, standing := p.rollMissing(goal)
	room -= standing
	kept := map[int]bool{} // replicas whose predecessor runs on, or is started again
	for _, g := range old {
		if !g.away() && (g.Running() || p.wanted[g]) { // what is away is in nobody's way
			room--
		}
		kept[g.Replica] = kept[g.Replica] || p.wanted[g]
	}
	for _, i := range missing {
		if room <= 0 {
			return
		}
		if p.blocked(goal, i) || goal.Spec.ReplicaExclusive() && kept[i] {
			continue
		}
		room--
		p.bring(goal, i, false)
	}
}
