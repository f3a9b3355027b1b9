package application

import (
	"net/netip"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// rollForward brings all groups of the goal up beside what serves, and moves
// traffic over once every one of them is ready.
func (p *planner) rollForward(goal *store.Release) {
	if p.waitsToRetry() {
		return
	}
	if (handsOver(goal, nil) || goal.Spec.ReplicaExclusive()) && p.stopOthers(goal) {
		// What an earlier try left running may hold what the goal needs alone.
		p.want(goal)
		p.progress(ReasonStarting, "containers of an earlier try are being stopped")
		return
	}
	p.raise(goal)
}

// waitsToRetry reports whether a first deploy has failed and its next try is not
// due yet.
func (p *planner) waitsToRetry() bool {
	w := p.w
	if w.Active != nil || !p.attemptFailed() || !w.Now.Before(w.RetryAt) {
		return false
	}
	p.wake(w.RetryAt)
	p.condition(reconcile.False, Reason(w.Attempt.Reason), w.Attempt.Message)
	return true
}

// handOver replaces a release that nothing may run beside: the goal's
// containers are made first, then traffic is held and drained, the old groups
// are stopped, the goal's started.
func (p *planner) handOver(goal *store.Release) {
	w := p.w
	p.want(goal)
	if p.makeMissing(goal) {
		p.keepServing()
		p.progress(ReasonHandingOver, "the new containers are being made; the old release serves")
		return
	}
	p.want(w.ActiveRelease) // kept, stopped, until the goal serves
	if len(w.Active.Targets) > 0 {
		row := *w.Active
		row.Targets = nil
		p.act(Action{Kind: ActSetActive, Active: &row, Why: "the old release is being replaced"})
		p.condition(reconcile.False, ReasonHandingOver, "requests are held while the old release is replaced")
		return
	}
	if p.stopOthers(goal) {
		p.condition(reconcile.False, ReasonHandingOver, "the old release drains and stops; requests are held")
		return
	}
	p.raise(goal)
}

// want keeps the release's groups from being retired.
func (p *planner) want(r *store.Release) {
	for i := range p.w.Groups {
		if g := &p.w.Groups[i]; g.matches(r) && g.Replica < p.w.Desired.Replicas {
			p.wanted[g] = true
		}
	}
}

// makeMissing makes what of the release's groups does not stand and starts
// nothing. It reports whether there was anything to make.
func (p *planner) makeMissing(r *store.Release) bool {
	any := false
	for i := range p.w.Desired.Replicas {
		for _, s := range r.Spec.Members() {
			if g := p.w.group(r, i); g == nil || g.member(s) == nil && !(s.Role == spec.RoleInit && !g.Main().Started.IsZero()) {
				any = true
				p.make(r, i, s)
			}
		}
	}
	return any
}

// stopOthers stops what runs and is not of the release, once traffic has left
// it, and reports whether anything still runs.
func (p *planner) stopOthers(goal *store.Release) bool {
	running := false
	for i := range p.w.Groups {
		g := &p.w.Groups[i]
		if g.matches(goal) || !g.Running() {
			continue
		}
		running = true
		p.stopWhenDrained(g)
	}
	return running
}

// raise gets every group of the goal ready, then moves traffic to them.
func (p *planner) raise(goal *store.Release) {
	w := p.w
	targets := make([]store.ActiveTarget, 0, w.Desired.Replicas)
	waiting := ""
	for i := range w.Desired.Replicas {
		g := w.group(goal, i)
		if g == nil {
			p.bring(goal, i, false)
			continue
		}
		switch ready, why, ok := p.advance(goal, g); {
		case !ok:
			return
		case ready:
			targets = append(targets, targetOf(goal, g))
		case why != "":
			waiting = why
		}
	}
	if len(targets) < w.Desired.Replicas {
		p.progress(ReasonStarting, waitingFor(waiting))
		return
	}
	p.cutOver(goal, targets)
}

func waitingFor(what string) string {
	msg := "waiting for the new release to become ready"
	if what != "" {
		msg += ": " + what
	}
	return msg
}

// advance takes the next steps of a group that is to become ready. ok is false
// once the attempt has failed by it.
func (p *planner) advance(goal *store.Release, g *Group) (ready bool, waiting string, ok bool) {
	p.wanted[g] = true
	ready = true
	for _, c := range survey(p.w, goal, g) {
		ready = ready && c.step == stepReady
		switch c.step {
		case stepMissing:
			p.make(goal, g.Replica, c.Member)
		case stepIdle:
			p.start(goal, g.Replica, c.Member, "")
		case stepEnded, stepBusy:
			switch {
			case c.step == stepEnded && startedBefore(c.m, p.w.AttemptAt):
				p.start(goal, g.Replica, c.Member, "")
			case c.verdict.failed != "":
				p.fail(c.verdict.failed, c.verdict.detail)
				return false, "", false
			default:
				p.wake(c.verdict.again)
				waiting = c.verdict.detail
			}
		case stepBlocked, stepReady:
		}
	}
	return ready, waiting, true
}

// cutOver makes the goal the active release.
func (p *planner) cutOver(goal *store.Release, targets []store.ActiveTarget) {
	w := p.w
	row := store.ActiveRelease{
		Service: w.Desired.Name, AppID: w.Desired.AppID, ReleaseID: goal.ID, Targets: targets, Replicas: w.Desired.Replicas,
		Route: routeOf(&w.Desired.Spec), Since: w.Now,
	}
	if w.Active != nil {
		row.PreviousID = w.Active.ReleaseID
		if keep := w.Desired.Spec.KeepPrevious; keep > 0 && !p.excludes(goal, w.ActiveRelease) {
			row.HeldUntil = w.Now.Add(keep)
		}
	}
	p.act(Action{Kind: ActSetActive, Active: &row, Release: goal, Why: "cutover"})
	// After the row, since an update of a running container takes the engine as
	// long as a small request, and the data plane is told meanwhile. Should it
	// not come to it, steady does it.
	for i := range w.Groups {
		if g := &w.Groups[i]; g.matches(goal) && p.wanted[g] {
			p.handRestartsToEngine(g)
		}
	}
	p.condition(reconcile.True, ReasonCutoverPending, "the new release is ready; traffic is moving to it")
}

// excludes reports whether either release holds something that the other's
// replicas may need.
func (p *planner) excludes(a, b *store.Release) bool {
	return handsOver(a, b) || a.Spec.ReplicaExclusive() || b != nil && b.Spec.ReplicaExclusive()
}

// handRestartsToEngine lets the engine restart what lasts in a group.
func (p *planner) handRestartsToEngine(g *Group) {
	for i := range g.Members {
		if m := &g.Members[i]; m.Role != spec.RoleInit && m.Restart == docker.RestartNo {
			p.act(Action{Kind: ActSetRestart, Container: m.Name, Policy: docker.RestartUnlessStopped})
		}
	}
}

// endedBefore reports whether the container ended before the attempt began.
func endedBefore(m *Member, attempt time.Time) bool {
	return m.ended() && m.Exit.FinishedAt.Before(attempt)
}

// startedBefore reports whether the container was last started before the
// attempt began: how it ended, by our own stop perhaps, says nothing about the
// attempt, and it gets a new start.
func startedBefore(m *Member, attempt time.Time) bool {
	return m.ended() && m.Exit.StartedAt.Before(attempt)
}

func targetOf(r *store.Release, g *Group) store.ActiveTarget {
	t := store.ActiveTarget{Container: g.Name, Replica: g.Replica, Node: g.Main().Node}
	if r.Spec.Port > 0 {
		t.Address = netip.AddrPortFrom(g.Main().Address, uint16(r.Spec.Port))
	}
	return t
}

// sameActive reports whether two rows say the same, their versions aside.
func sameActive(a, b *store.ActiveRelease) bool {
	return a.ReleaseID == b.ReleaseID && a.Replicas == b.Replicas && slices.Equal(a.Targets, b.Targets) &&
		slices.Equal(a.Route.Hosts, b.Route.Hosts) && a.Route.Path == b.Route.Path &&
		a.Route.HoldTimeout == b.Route.HoldTimeout && a.Route.DrainTimeout == b.Route.DrainTimeout
}
