package application

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// steady keeps the active release at the desired number of replicas and the
// traffic on those that can take it. It returns how many serve.
func (p *planner) steady(r *store.Release) int {
	w := p.w
	want := p.replicas(r)
	var full, limping []store.ActiveTarget
	var missing []int
	for i := range want {
		g := w.group(r, i)
		if g == nil {
			missing = append(missing, i)
			continue
		}
		p.wanted[g] = true
		switch p.sustain(r, g) {
		case standsFull:
			full = append(full, targetOf(r, g))
		case standsLimping:
			limping = append(limping, targetOf(r, g))
		case standsDown:
		}
	}
	for _, i := range missing { // last, since what stands must not wait for what cannot be made
		p.bring(r, i, p.blocked(r, i))
	}
	serving := len(full)
	targets := append(full, p.standIns(r, want, len(full))...)
	if len(targets) == 0 {
		targets = limping // half a replica is better than none
	} else {
		serving = len(targets)
	}
	if len(targets) == 0 {
		targets = p.standInsAgain(r, want)
	}
	p.direct(r, want, targets)
	return serving
}

// blocked reports whether a replica of the release may not start yet, because
// what it needs alone is still in use.
func (p *planner) blocked(r *store.Release, replica int) bool {
	if handsOver(r, nil) && p.othersRun(r) {
		return true
	}
	return r.Spec.ReplicaExclusive() && slices.ContainsFunc(p.w.Groups, func(g Group) bool {
		return g.Replica == replica && g.Running() && !g.matches(r)
	})
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

// keepServing looks after the active release while another one is on its way:
// its replicas stay as they are, an ended one is started again.
func (p *planner) keepServing() {
	w := p.w
	r := w.ActiveRelease
	if r == nil {
		return
	}
	if r.Spec.Completes() {
		p.want(r)
		return
	}
	var targets, limping []store.ActiveTarget
	for i := range w.Groups {
		g := &w.Groups[i]
		switch {
		case g.matches(r):
			p.wanted[g] = true
			switch p.sustain(r, g) {
			case standsFull:
				targets = append(targets, targetOf(r, g))
			case standsLimping:
				limping = append(limping, targetOf(r, g))
			case standsDown:
			}
		case p.serves(g) && !p.wanted[g]: // left by a rolling change that was overtaken
			p.wanted[g] = true
			targets = append(targets, *w.target(g.Name))
		}
	}
	if len(targets) == 0 {
		targets = limping
	}
	if len(targets) > 0 {
		row := *w.Active
		row.Targets = sortTargets(targets)
		p.setActive(row, "targets changed")
	}
}

// stand is how far a group of the active release can take traffic.
type stand int

const (
	standsDown    stand = iota
	standsLimping       // its main container serves, one beside it does not run
	standsFull
)

// sustain keeps one group of the active release running.
func (p *planner) sustain(r *store.Release, g *Group) stand {
	blocked := p.blocked(r, g.Replica)
	main, all := false, true
	for _, c := range survey(p.w, r, g) {
		ok := p.sustainMember(r, g, c, blocked)
		all = all && ok
		if c.Role == spec.RoleMain {
			main = ok
		}
	}
	switch {
	case all:
		return standsFull
	case main:
		return standsLimping
	}
	return standsDown
}

// sustainMember keeps one container running and reports whether it does its
// part.
func (p *planner) sustainMember(r *store.Release, g *Group, c place, blocked bool) bool {
	switch {
	case c.step == stepMissing:
		p.make(r, g.Replica, c.Member)
		return false
	case c.step == stepBlocked:
		return false
	case c.step == stepIdle, c.step == stepEnded:
		p.startAgain(r, g.Replica, c, blocked)
		return false
	case c.Role == spec.RoleInit:
		if c.step != stepReady {
			p.await(r, c.verdict)
		}
		return c.step == stepReady
	}
	switch c.m.Status {
	case docker.StatusRunning:
		return p.admit(r, g, c)
	case docker.StatusRestarting:
		if c.m.Deaths >= p.w.Timing.CrashLimit {
			p.takeOver(r, g, c)
		} else {
			p.recheck()
		}
	default:
		p.recheck()
	}
	return false
}

// admit decides about a running container: one that takes traffic already and
// has not ended since keeps it, any other has to prove itself first.
func (p *planner) admit(r *store.Release, g *Group, c place) bool {
	m, serving := c.m, p.w.target(g.Name) != nil
	if m.Deaths >= p.w.Timing.CrashLimit && m.Restart != docker.RestartNo {
		p.takeOver(r, g, c)
	}
	if c.Liveness != nil && !m.Recheck && p.hangs(g, c) {
		return false
	}
	if !serving || m.Recheck {
		v := c.verdict
		if serving && (!probed(c.Member) || !m.Ready.ReadySince.IsZero()) {
			v.ready = true // it takes traffic and answers: windows are for newcomers
		}
		if !v.ready {
			p.await(r, v)
			return false
		}
	}
	if m.Restart == docker.RestartNo && m.Deaths == 0 {
		p.act(Action{Kind: ActSetRestart, Container: m.Name, Policy: docker.RestartUnlessStopped})
	}
	return true
}

// await waits for a container of the active release that is not ready. One that
// failed goes on being looked at, as another start would not help it, and ends
// the attempt that is about its release: what serves badly says nothing about
// what shall take its place.
func (p *planner) await(r *store.Release, v verdict) {
	if v.failed == "" {
		p.wake(v.again)
		return
	}
	p.recheck()
	if p.w.Release != nil && p.w.Release.ID == r.ID {
		p.settle(store.AttemptFailed, v.failed, v.detail)
	}
}

// hangs reports whether a container fails its liveness probe for good, and
// stops it once no traffic goes to it: it is then started again in place.
func (p *planner) hangs(g *Group, c place) bool {
	serving := p.w.target(g.Name) != nil
	if !hung(c.Member, c.m) {
		if serving && !c.m.Live.Due.IsZero() { // only what serves is asked
			p.wake(c.m.Live.Due)
		}
		return false
	}
	if c.Role == spec.RoleMain && (serving || p.w.Ingress.Known && !p.w.acknowledged()) {
		p.recheck() // it leaves the routes first
		return true
	}
	p.act(Action{Kind: ActStop, Container: c.m.Name, Grace: p.grace(), Why: whyLiveness})
	return true
}

// hung reports whether as many liveness probes in a row failed as a container
// may fail.
func hung(s spec.Member, m *Member) bool {
	return s.Liveness != nil && m.Live.Failures >= cmp.Or(s.Liveness.Failures, spec.DefaultLivenessFailures)
}

// whyLiveness marks the stop of a container that hangs.
const whyLiveness = "its liveness probe fails"

// takeOver makes the controller the one that restarts a crashing container,
// with a delay that grows. The start that the engine has in store is called off
// once no request can be on what comes of it.
func (p *planner) takeOver(r *store.Release, g *Group, c place) {
	m := c.m
	if m.Restart != docker.RestartNo {
		p.act(Action{Kind: ActSetRestart, Container: m.Name, Policy: docker.RestartNo,
			Why: fmt.Sprintf("ended %d times within %s", m.Deaths, p.w.Timing.CrashWindow)})
	}
	if m.Status != docker.StatusRestarting {
		return
	}
	if c.Role == spec.RoleMain {
		if p.w.target(g.Name) != nil {
			p.recheck()
			return
		}
		if free, again := p.trafficGone(g.Name); !free {
			p.wake(again)
			return
		}
	}
	p.act(Action{Kind: ActStop, Container: m.Name, Grace: r.Spec.StopGrace, Why: "crash loop"})
}

func (p *planner) startAgain(r *store.Release, replica int, c place, blocked bool) {
	switch {
	case blocked:
		p.recheck()
	case p.w.Now.Before(c.m.RestartAt):
		p.wake(c.m.RestartAt)
	default:
		p.start(r, replica, c.Member, "not running")
	}
}

// start starts a container, with its files in place if it never ran. What needs
// alone what another start of the same plan takes waits for the next look.
func (p *planner) start(r *store.Release, replica int, s spec.Member, why string) {
	if p.clashes(r, replica) {
		p.recheck()
		return
	}
	a := Action{Kind: ActStart, Container: memberContainer(r, replica, s), Member: s.Name, Release: r, Replica: replica, Why: why}
	if m := p.w.member(a.Container); len(s.Files) > 0 && (m == nil || m.Status == docker.StatusCreated) {
		fill := a
		fill.Kind, fill.Why = ActFill, ""
		p.act(fill)
	}
	p.act(a)
}

// clashes reports whether the plan starts something already that a replica of the
// release may not run beside.
func (p *planner) clashes(r *store.Release, replica int) bool {
	return slices.ContainsFunc(p.plan.Actions, func(a Action) bool {
		if a.Kind != ActStart || a.Release == nil || sameContent(a.Release, r) {
			return false
		}
		return handsOver(r, a.Release) || a.Replica == replica && (r.Spec.ReplicaExclusive() || a.Release.Spec.ReplicaExclusive())
	})
}

// bring makes a missing replica of a release and starts what starts first,
// unless something else may not run beside it yet.
func (p *planner) bring(r *store.Release, replica int, blocked bool) {
	members := r.Spec.Members()
	for _, s := range members {
		if p.w.nameHeld(memberContainer(r, replica, s)) {
			// Something of ours but not of this content has the name; it is being
			// retired.
			p.recheck()
			return
		}
	}
	for _, s := range members {
		p.make(r, replica, s)
	}
	if blocked {
		return
	}
	before := sidecarsBefore(&r.Spec)
	for _, s := range members {
		switch {
		case s.Role == spec.RoleInit:
			p.start(r, replica, s, "")
			return
		case len(s.DependsOn) == 0 && (s.Role == spec.RoleMain || before[s.Name]):
			p.start(r, replica, s, "")
		}
	}
}

// make makes one container, and what it needs to stand.
func (p *planner) make(r *store.Release, replica int, s spec.Member) {
	name := memberContainer(r, replica, s)
	if p.w.nameHeld(name) {
		p.recheck()
		return
	}
	p.once(Action{Kind: ActEnsureNetwork, Release: r})
	for _, v := range s.Volumes {
		if v.Name != "" {
			p.once(Action{Kind: ActEnsureVolume, Volume: volumeOf(r, replica, v), Release: r, Replica: replica})
		}
	}
	p.act(Action{Kind: ActCreate, Container: name, Member: s.Name, Replica: replica, Release: r})
}

// once adds an action unless the plan has it.
func (p *planner) once(a Action) {
	if !slices.ContainsFunc(p.plan.Actions, func(b Action) bool { return a.Kind == b.Kind && a.Volume == b.Volume }) {
		p.act(a)
	}
}

// keptMark begins, in the place of a name within the app, the id of a volume that
// is a tenant's. No name has a slash.
const keptMark = "kept/"

// volumeOf is a volume's name within the app; a stateful service has one for
// every replica, or stands on one of the tenant's for each.
func volumeOf(r *store.Release, replica int, v spec.Volume) string {
	if len(v.IDs) > 0 {
		id := "" // no volume, which the engine refuses
		if replica < len(v.IDs) {
			id = v.IDs[replica]
		}
		return keptMark + id
	}
	if r.Spec.Stateful {
		return fmt.Sprintf("%s_%d", v.Name, replica)
	}
	return v.Name
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
	row.Targets, row.ReleaseID, row.Replicas = sortTargets(targets), r.ID, want
	if p.w.Release != nil && p.w.Release.ID == r.ID {
		row.Route = routeOf(&p.w.Desired.Spec)
	}
	p.setActive(row, "targets changed")
}

// sortTargets orders targets by replica, those of one replica by name.
func sortTargets(targets []store.ActiveTarget) []store.ActiveTarget {
	slices.SortFunc(targets, func(a, b store.ActiveTarget) int {
		return cmp.Or(cmp.Compare(a.Replica, b.Replica), cmp.Compare(a.Container, b.Container))
	})
	return targets
}

func (p *planner) setActive(row store.ActiveRelease, why string) {
	if sameActive(p.w.Active, &row) {
		return
	}
	// First of all: that a container cannot be made keeps no traffic where
	// nobody answers.
	p.plan.Actions = slices.Insert(p.plan.Actions, 0, Action{Kind: ActSetActive, Active: &row, Why: why})
}
