package application

import (
	"fmt"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// retire drains, stops and removes every group that nothing wants.
func (p *planner) retire(goal *store.Release) {
	for i := range p.w.Groups {
		g := &p.w.Groups[i]
		switch {
		case p.wanted[g] || p.takesTraffic(g):
		case p.held(g, goal):
			p.wake(p.w.Active.HeldUntil)
		case g.Running():
			p.stopWhenDrained(g)
		default:
			p.remove(g)
		}
	}
}

// takesTraffic reports whether the active release's row names the group; it
// has to leave the row before anything else happens to it.
func (p *planner) takesTraffic(g *Group) bool {
	if p.w.target(g.Name) == nil {
		return false
	}
	p.recheck()
	return true
}

// held reports whether the group belongs to the newest previous release and
// is still kept running as a rollback that needs no start. What it runs counts,
// not the release it was made for: a later release of the same content takes
// containers over.
func (p *planner) held(g *Group, goal *store.Release) bool {
	a := p.w.Active
	return a != nil && goal != nil && a.ReleaseID == goal.ID && p.w.Now.Before(a.HeldUntil) &&
		g.matches(p.w.Previous) && g.runs(p.w.Previous)
}

// stopWhenDrained stops a group once no request can be on it: its main
// container first, then what stands beside it.
func (p *planner) stopWhenDrained(g *Group) {
	if main := g.Main(); main.live() {
		free, again := p.trafficGone(g.Name)
		if !free {
			p.wake(again)
			return
		}
		p.act(Action{Kind: ActStop, Container: main.Name, Grace: p.grace(), Why: "traffic has left it"})
		return
	}
	for i := range g.Members {
		if m := &g.Members[i]; m.live() {
			p.act(Action{Kind: ActStop, Container: m.Name, Grace: p.grace(), Why: "its main container has ended"})
		}
	}
}

func (p *planner) grace() time.Duration {
	if p.w.Desired != nil && p.w.Desired.Spec.StopGrace > 0 {
		return p.w.Desired.Spec.StopGrace
	}
	return p.w.Timing.StopGrace
}

// trafficGone reports whether the data plane sends nothing to a container any
// more and nothing is in flight on it, or when to look again.
func (p *planner) trafficGone(name string) (bool, time.Time) {
	w := p.w
	later := w.Now.Add(w.Timing.Recheck)
	if w.Active == nil && !w.Ingress.Known {
		return true, later
	}
	if !w.Ingress.Known {
		return !w.routed(), later
	}
	if w.Active != nil && w.Ingress.Reported < w.Active.Version && w.routed() {
		return false, later // its absence from an older report would prove nothing
	}
	t, seen := w.Ingress.InFlight[name]
	if !seen || (t.Draining && t.InFlight == 0) {
		return true, later
	}
	if !t.Draining {
		return false, later
	}
	drain := spec.DefaultDrainTimeout
	if w.Active != nil && w.Active.Route.DrainTimeout > 0 {
		drain = w.Active.Route.DrainTimeout
	}
	end := t.DrainingSince.Add(drain + w.Timing.DrainSlack)
	return !w.Now.Before(end), end
}

func (p *planner) remove(g *Group) {
	for i := range g.Members {
		m := &g.Members[i]
		if m.Status == docker.StatusRemoving {
			p.recheck()
			continue
		}
		p.act(Action{Kind: ActRemove, Container: m.Name, Member: m.Member, Replica: g.Replica})
	}
}

func (p *planner) freeLeaked() {
	for _, name := range p.w.Leaked {
		if !p.plans(ActCreate, name) {
			p.act(Action{Kind: ActFreeAddress, Container: name})
		}
	}
	for _, v := range p.w.LeakedVolumes {
		if !p.plans(ActCreate, v.Container) {
			p.act(Action{Kind: ActRemoveVolume, Volume: v.Name})
		}
	}
}

// report settles the attempt when it is done and words the condition, unless
// an earlier step already has.
func (p *planner) report(goal *store.Release, ready int) {
	w := p.w
	if w.Active == nil || w.Active.ReleaseID != goal.ID {
		if p.plan.Condition.Reason == "" {
			p.progress(ReasonStarting, "the new release is being started")
		}
		return
	}
	want := p.replicas(goal)
	done := ready == want && len(w.Active.Targets) == want && !p.plans(ActSetActive, "")
	switch {
	case p.plan.Condition.Reason != "":
	case p.attemptFailed() && !(done && w.Release != nil && w.Release.ID == goal.ID):
		p.serveOn(ready)
	case ready == 0:
		p.condition(reconcile.False, p.whyNone(goal), p.explainNone(goal))
	case ready < want && p.attemptOpen():
		p.condition(reconcile.True, ReasonScaling, fmt.Sprintf("%d of %d replicas serve%s", ready, want, p.lacking(goal)))
	case ready < want:
		p.condition(reconcile.True, ReasonDegraded, fmt.Sprintf("%d of %d replicas serve%s", ready, want, p.lacking(goal)))
	case done && !w.acknowledged():
		p.recheck()
		p.giveUpCutover()
		p.condition(reconcile.True, ReasonCutoverPending, "the data plane has not taken the new routes yet")
	case p.limps() != "":
		p.condition(reconcile.True, ReasonLivenessDegraded, "a liveness probe fails: "+p.limps())
	default:
		p.condition(reconcile.True, ReasonDeployed, fmt.Sprintf("release %s serves on %d of %d replicas", goal.ID, ready, want))
	}
	if done && w.acknowledged() && w.Release != nil && goal.ID == w.Release.ID {
		p.settle(store.AttemptSucceeded, ReasonDeployed, fmt.Sprintf("release %s serves on %s", goal.ID, replicas(want)))
	}
}

// limps is what a liveness probe found that fails, not yet often enough for a
// restart; "" when none does.
func (p *planner) limps() string {
	for i := range p.w.Groups {
		for j := range p.w.Groups[i].Members {
			if m := &p.w.Groups[i].Members[j]; p.wanted[&p.w.Groups[i]] && m.Live.Failures > 0 {
				return "container " + m.Name + ": " + m.Live.Last
			}
		}
	}
	return ""
}

// giveUpCutover ends an attempt whose routes the data plane does not take.
func (p *planner) giveUpCutover() {
	since := p.w.Active.Since
	if p.w.AttemptAt.After(since) {
		since = p.w.AttemptAt
	}
	if p.w.Now.Sub(since) < p.w.Timing.CutoverTimeout {
		return
	}
	p.settle(store.AttemptFailed, ReasonCutoverTimeout, fmt.Sprintf(
		"the new containers are ready, but the data plane did not take their routes within %s; `berth doctor` says what is wrong with it, and traffic moves as soon as it answers",
		p.w.Timing.CutoverTimeout))
}

// plans reports whether this plan has an action of that kind, on that
// container where one is named.
func (p *planner) plans(kind ActionKind, container string) bool {
	return slices.ContainsFunc(p.plan.Actions, func(a Action) bool {
		return a.Kind == kind && (container == "" || a.Container == container)
	})
}

// serveOn is the condition after a failed change.
func (p *planner) serveOn(ready int) {
	a := p.w.Attempt
	if ready == 0 {
		p.condition(reconcile.False, ReasonNoReadyReplica, "the last change failed ("+a.Reason+": "+a.Message+") and the release before it is being brought back")
		return
	}
	p.condition(reconcile.True, ReasonPreviousServing,
		fmt.Sprintf("release %s serves; the last change failed: %s: %s", p.w.Active.ReleaseID, a.Reason, a.Message))
}

// whyNone tells a crash loop from a plain absence.
func (p *planner) whyNone(r *store.Release) Reason {
	for i := range p.w.Groups {
		g := &p.w.Groups[i]
		for j := range g.Members {
			m := &g.Members[j]
			if !g.matches(r) || m.Role == spec.RoleInit {
				continue
			}
			if m.Live.Last != "" {
				return ReasonLivenessRestarting
			}
			if m.Deaths >= p.w.Timing.CrashLimit || p.w.Now.Before(m.RestartAt) {
				return ReasonCrashLoop
			}
		}
	}
	return ReasonNoReadyReplica
}

func (p *planner) explainNone(r *store.Release) string {
	if text := p.firstAbsence(r, false); text != "" {
		return text
	}
	return "no replica is ready"
}

// lacking says, after a colon, why a replica beside those that serve does not.
func (p *planner) lacking(r *store.Release) string {
	if text := p.firstAbsence(r, true); text != "" {
		return ": " + text
	}
	return ""
}

// firstAbsence says why a container of the release does not do its part, where
// that shows; servingToo leaves out groups that take traffic and run whole.
func (p *planner) firstAbsence(r *store.Release, servingToo bool) string {
	for i := range p.w.Groups {
		g := &p.w.Groups[i]
		if !g.matches(r) || servingToo && p.w.target(g.Name) != nil && g.runs(r) {
			continue
		}
		for j := range g.Members {
			if m := &g.Members[j]; !m.completed() || m.Role != spec.RoleInit {
				if text := explainAbsence(m); text != "" {
					return text
				}
			}
		}
	}
	return ""
}

// explainAbsence says why a container takes no traffic, as far as it shows.
func explainAbsence(m *Member) string {
	switch m.Status {
	case docker.StatusExited, docker.StatusDead, docker.StatusRestarting:
		if m.Live.Last != "" {
			return fmt.Sprintf("container %s is restarted, its liveness probe failed: %s", m.Name, m.Live.Last)
		}
		return explainEnd(m, "")
	case docker.StatusPaused:
		return explainPaused(m)
	case docker.StatusRunning, docker.StatusCreated, docker.StatusRemoving:
		if m.Live.Last != "" {
			return fmt.Sprintf("container %s fails its liveness probe: %s", m.Name, m.Live.Last)
		}
		if m.Ready.Last != "" {
			return "container " + m.Name + ": " + m.Ready.Last
		}
	}
	return ""
}
