package application

import (
	"cmp"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// complete runs a service to its end, once for every release. What another
// release left running is stopped first; the container that ended is kept, for
// its log and as the proof that it ran.
func (p *planner) complete(goal *store.Release) {
	p.want(goal)
	g := p.w.group(goal, 0)
	if p.isActive(goal) {
		p.completed(goal, g)
		return
	}
	if p.w.Active == nil && p.attemptFailed() && g != nil && g.Running() {
		p.stopWhenDrained(g) // what ran beside it
	}
	if p.waitsToRetry() {
		return
	}
	if p.waitsForOthers(goal) {
		p.keepServing()
		p.waitForOthers()
		return
	}
	if w := p.w; w.Active != nil && len(w.Active.Targets) > 0 {
		row := *w.Active
		row.Targets = nil
		p.act(Action{Kind: ActSetActive, Active: &row, Why: "it becomes a service that runs to completion"})
		p.condition(reconcile.False, ReasonHandingOver, "traffic is being taken off")
		return
	}
	if p.stopOthers(goal) {
		p.progress(ReasonStarting, "the run of the release before is being stopped")
		return
	}
	if g == nil {
		p.bring(goal, 0, false)
		p.progress(ReasonStarting, "its containers are being made")
		return
	}
	p.run(goal, g)
}

// run takes the next step of a group whose main container shall come to its end.
func (p *planner) run(goal *store.Release, g *Group) {
	w := p.w
	for _, c := range survey(w, goal, g) {
		switch {
		case c.step == stepMissing:
			p.make(goal, g.Replica, c.Member)
		case c.step == stepIdle, c.step == stepEnded && endedBefore(c.m, w.AttemptAt):
			p.start(goal, g.Replica, c.Member, "")
		case c.Role != spec.RoleMain && c.verdict.failed != "":
			p.fail(c.verdict.failed, c.verdict.detail)
			return
		case c.Role != spec.RoleMain && c.step == stepBusy:
			p.wake(c.verdict.again)
		case c.Role != spec.RoleMain || c.m == nil || c.step == stepBlocked && c.m.Status == docker.StatusCreated:
		case c.m.completed():
			row := store.ActiveRelease{Service: w.Desired.Name, AppID: w.Desired.AppID, ReleaseID: goal.ID, Replicas: 1, Since: w.Now}
			p.act(Action{Kind: ActSetActive, Active: &row, Release: goal, Why: whyCompleted})
			p.condition(reconcile.True, ReasonCompleted, "it ran to its end")
			return
		case c.m.ended():
			p.runAgain(goal, g, c)
			return
		default:
			p.watchRun(c)
		}
	}
	if p.plan.Condition.Reason == "" {
		p.progress(ReasonStarting, "its containers are being started")
	}
}

// runAgain decides about a run that failed.
func (p *planner) runAgain(goal *store.Release, g *Group, c place) {
	if goal.Spec.Restart != spec.RestartOnFailure || p.late(c.m) {
		p.fail(ReasonJobFailed, explainEnd(c.m, ""))
		return
	}
	p.runNext(goal, g.Replica, c)
	p.condition(reconcile.Unknown, ReasonRunningToComplete, "it is run again: "+explainEnd(c.m, ""))
	p.wake(p.deadline(c.m))
}

// runNext starts the next run once its time has come.
func (p *planner) runNext(goal *store.Release, replica int, c place) {
	if p.w.Now.Before(c.m.RestartAt) {
		p.wake(c.m.RestartAt)
		return
	}
	p.start(goal, replica, c.Member, fmt.Sprintf("the run before exited with code %d", c.m.Exit.Code))
}

// whyCompleted marks the row of a release that ran to its end.
const whyCompleted = "completed"

// watchRun waits for the end of a run, up to its deadline.
func (p *planner) watchRun(c place) {
	if p.late(c.m) {
		p.act(Action{Kind: ActStop, Container: c.m.Name, Grace: p.grace(), Why: "its time to complete is over"})
		p.fail(ReasonCompletionTimeout, fmt.Sprintf("container %s did not run to its end within %s; raise completion_timeout if it only needs longer%s",
			c.m.Name, p.completionTimeout(), lastLines(c.m)))
		return
	}
	p.wake(p.deadline(c.m))
	p.condition(reconcile.Unknown, ReasonRunningToComplete, "it runs to its end")
}

// completed is a release that ran to its end: what ran beside it is stopped.
func (p *planner) completed(goal *store.Release, g *Group) {
	if g != nil && g.Running() {
		p.stopWhenDrained(g)
	}
	row := *p.w.Active
	row.ReleaseID, row.Targets, row.Replicas = goal.ID, nil, 1
	if p.setActive(row, whyCompleted); p.plans(ActSetActive, "") {
		p.condition(reconcile.True, ReasonCompleted, "it ran to its end")
		return
	}
	if p.attemptFailed() && !(p.w.Release != nil && p.w.Release.ID == goal.ID) {
		p.condition(reconcile.False, ReasonJobFailed, "the last change failed: "+p.w.Attempt.Reason+": "+p.w.Attempt.Message)
		return
	}
	p.settle(store.AttemptSucceeded, ReasonCompleted, "release "+goal.ID+" ran to its end")
	p.condition(reconcile.True, ReasonCompleted, "release "+goal.ID+" ran to its end")
}

func (p *planner) completionTimeout() time.Duration {
	return cmp.Or(p.w.Desired.Spec.CompletionTimeout, spec.DefaultCompletionTimeout)
}

// deadline is when the attempt's runs have to be over. What the attempt waited
// for before its container was made is not the program's time.
func (p *planner) deadline(m *Member) time.Time {
	from := p.w.AttemptAt
	if m.Created.After(from) {
		from = m.Created
	}
	return from.Add(p.completionTimeout())
}

func (p *planner) late(m *Member) bool { return !p.w.Now.Before(p.deadline(m)) }
