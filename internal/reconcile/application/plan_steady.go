package application

import (
	"fmt"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

// steady keeps the active release at the desired number of replicas and the
// traffic on those that can take it. It returns how many serve.
func (p *planner) steady(r *store.Release) int {
	w := p.w
	// Where one writer is allowed, nothing of another release may run beside.
	blocked := handsOver(r, nil) && p.othersRun(r)
	want := p.replicas(r)
	var targets []store.ActiveTarget
	for i := range want {
		g := w.group(r, i)
		if g == nil {
			p.bring(r, i, blocked)
			continue
		}
		p.wanted[g] = true
		if p.sustain(r, g, blocked) {
			targets = append(targets, targetOf(r, g))
		}
	}
	targets = append(targets, p.standIns(r, want, len(targets))...)
	p.direct(r, want, targets)
	return len(targets)
}

// replicas is how many replicas of a release shall stand: a failed change of
// another release says nothing about the active one.
func (p *planner) replicas(r *store.Release) int {
	w := p.w
	if p.attemptFailed() && w.Active != nil && w.Active.Replicas > 0 && (w.Release == nil || w.Release.ID != r.ID) {
		return w.Active.Replicas
	}
	return w.Desired.Replicas
}

// standIns are replicas beyond the wanted ones that go on serving while wanted
// ones are not ready: a scale-down never costs the last ready replica.
func (p *planner) standIns(r *store.Release, want, ready int) []store.ActiveTarget {
	var out []store.ActiveTarget
	for i := range p.w.Groups {
		g := &p.w.Groups[i]
		if ready+len(out) >= want {
			break
		}
		if g.Replica >= want && g.matches(r) && g.Main().Status == docker.StatusRunning && p.w.target(g.Main().Name) != nil && !g.Main().Recheck {
			p.wanted[g] = true
			out = append(out, targetOf(r, g))
		}
	}
	return out
}

// keepServing looks after the active release while another one is on its way:
// its replicas stay as they are, an ended one is started again.
func (p *planner) keepServing() {
	w := p.w
	r := w.ActiveRelease
	if r == nil {
		return
	}
	// What it may not run beside is still there when a change comes in the
	// middle of a hand-over.
	blocked := handsOver(r, nil) && p.othersRun(r)
	var targets []store.ActiveTarget
	for i := range w.Groups {
		g := &w.Groups[i]
		if !g.matches(r) {
			continue
		}
		p.wanted[g] = true
		if p.sustain(r, g, blocked) {
			targets = append(targets, targetOf(r, g))
		}
	}
	if len(targets) > 0 {
		row := *w.Active
		row.Targets = targets
		p.setActive(row, "targets changed")
	}
}

// sustain keeps one group of the active release running and reports whether
// it can take traffic now.
func (p *planner) sustain(r *store.Release, g *Group, blocked bool) bool {
	m := g.Main()
	switch m.Status {
	case docker.StatusRunning:
		return p.admit(r, g)
	case docker.StatusExited, docker.StatusDead, docker.StatusCreated:
		p.startAgain(m, blocked)
	case docker.StatusRestarting:
		if m.Deaths >= p.w.Timing.CrashLimit {
			p.takeOver(m, r)
		} else {
			p.recheck()
		}
	case docker.StatusPaused, docker.StatusRemoving:
		p.recheck()
	}
	return false
}

// admit decides about a running container: one that takes traffic already and
// has not ended since keeps it, any other has to prove itself first.
func (p *planner) admit(r *store.Release, g *Group) bool {
	m := g.Main()
	if m.Deaths >= p.w.Timing.CrashLimit && m.Restart != docker.RestartNo {
		p.takeOver(m, r)
	}
	if p.w.target(m.Name) == nil || m.Recheck {
		v := judge(p.w, r, g)
		if p.w.target(m.Name) != nil && (r.Spec.Port == 0 || !m.Ready.ReadySince.IsZero()) {
			v.ready = true // it takes traffic and answers: windows are for newcomers
		}
		if !v.ready {
			if v.failed != "" {
				// It goes on being probed: another start would not help it.
				p.recheck()
				p.settle(store.AttemptFailed, v.failed, v.detail)
			} else {
				p.wake(v.again)
			}
			return false
		}
	}
	if m.Restart == docker.RestartNo && m.Deaths == 0 {
		p.act(Action{Kind: ActSetRestart, Container: m.Name, Policy: docker.RestartUnlessStopped})
	}
	return true
}

// takeOver makes the controller the one that restarts a crashing container,
// with a delay that grows.
func (p *planner) takeOver(m *Member, r *store.Release) {
	if m.Restart != docker.RestartNo {
		p.act(Action{Kind: ActSetRestart, Container: m.Name, Policy: docker.RestartNo,
			Why: fmt.Sprintf("ended %d times within %s", m.Deaths, p.w.Timing.CrashWindow)})
	}
	if m.Status == docker.StatusRestarting {
		p.act(Action{Kind: ActStop, Container: m.Name, Grace: r.Spec.StopGrace, Why: "crash loop"})
	}
}

func (p *planner) startAgain(m *Member, blocked bool) {
	switch {
	case blocked:
		p.recheck()
	case p.w.Now.Before(m.RestartAt):
		p.wake(m.RestartAt)
	default:
		p.act(Action{Kind: ActStart, Container: m.Name, Why: "not running"})
	}
}

// bring makes a missing replica of a release and starts it, unless something
// else may not run beside it yet.
func (p *planner) bring(r *store.Release, replica int, blocked bool) {
	name := releaseContainer(r, replica)
	if p.w.nameHeld(name) {
		// Something of ours but not of this content has the name; it is being
		// retired.
		p.recheck()
		return
	}
	p.create(r, replica)
	if !blocked {
		p.act(Action{Kind: ActStart, Container: name, Release: r, Replica: replica})
	}
}

func (p *planner) create(r *store.Release, replica int) {
	p.act(Action{Kind: ActEnsureNetwork, Release: r})
	for _, v := range r.Spec.Volumes {
		if v.Name != "" {
			p.act(Action{Kind: ActEnsureVolume, Volume: v.Name, Release: r})
		}
	}
	p.act(Action{Kind: ActCreate, Container: releaseContainer(r, replica), Replica: replica, Release: r})
}

// othersRun reports whether anything but the release's own groups runs.
func (p *planner) othersRun(r *store.Release) bool {
	for i := range p.w.Groups {
		if g := &p.w.Groups[i]; g.Running() && !g.matches(r) {
			return true
		}
	}
	return false
}

// direct points traffic at the targets if it does not go there already, and
// carries changed routes of the desired spec over.
func (p *planner) direct(r *store.Release, want int, targets []store.ActiveTarget) {
	row := *p.w.Active
	row.Targets, row.ReleaseID, row.Replicas = targets, r.ID, want
	if p.w.Release != nil && p.w.Release.ID == r.ID {
		row.Route = routeOf(&p.w.Desired.Spec)
	}
	p.setActive(row, "targets changed")
}

func (p *planner) setActive(row store.ActiveRelease, why string) {
	if sameActive(p.w.Active, &row) {
		return
	}
	p.act(Action{Kind: ActSetActive, Active: &row, Why: why})
}
