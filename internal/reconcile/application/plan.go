package application

import (
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// PlanPass decides what one pass does. It is a pure function: the same world
// gives the same plan.
func PlanPass(w World) Plan {
	p := &planner{w: &w}
	switch d := w.Desired; {
	case d == nil:
		p.condition(reconcile.Unknown, ReasonNoDesiredState, "no such service is desired")
	case d.MaintenanceHold:
		p.condition(reconcile.Unknown, ReasonMaintenance, "held for maintenance: nothing is changed")
	case d.Suspended:
		p.suspend()
	case w.Release == nil && !(p.attemptFailed() && w.ActiveRelease != nil):
		p.resolve()
	case w.Release != nil && d.Spec.Strategy != spec.BlueGreen && d.Spec.Strategy != spec.Recreate:
		p.condition(reconcile.False, ReasonStrategyUnknown, fmt.Sprintf("strategy %q is not one this version knows", d.Spec.Strategy))
	default:
		p.converge()
	}
	return p.plan
}

// planner builds one plan.
type planner struct {
	w    *World
	plan Plan
	// wanted are the groups that must stand; all others are retired.
	wanted map[*Group]bool
}

func (p *planner) act(a Action) { p.plan.Actions = append(p.plan.Actions, a) }

// wake asks for another pass at t at the latest.
func (p *planner) wake(t time.Time) {
	d := max(t.Sub(p.w.Now), time.Millisecond)
	if p.plan.Requeue == 0 || d < p.plan.Requeue {
		p.plan.Requeue = d
	}
}

// recheck asks for a look in case what should wake us does not.
func (p *planner) recheck() { p.wake(p.w.Now.Add(p.w.Timing.Recheck)) }

func (p *planner) condition(status reconcile.ConditionStatus, reason Reason, message string) {
	p.plan.Condition = reconcile.Condition{
		Type: reconcile.ConditionReady, Status: status, Reason: string(reason), Message: message,
	}
}

// converge plans towards the goal release.
func (p *planner) converge() {
	w := p.w
	p.wanted = map[*Group]bool{}
	goal := w.Release
	if p.attemptFailed() && w.ActiveRelease != nil {
		goal = w.ActiveRelease
	}
	var ready int
	switch {
	case p.attemptOpen() && w.Failure != nil:
		p.keepServing()
		p.fail(w.Failure.Reason, w.Failure.Detail)
	case w.Active != nil && (w.Active.ReleaseID == goal.ID || sameContent(goal, w.ActiveRelease)):
		ready = p.steady(goal)
	case w.Active != nil && handsOver(goal, w.ActiveRelease):
		p.handOver(goal)
	default:
		if w.Active != nil {
			p.keepServing()
		}
		p.rollForward(goal)
	}
	p.retire(goal)
	p.freeLeaked()
	p.report(goal, ready)
}

// attemptFailed reports whether the attempt behind the desired state is over
// without success.
func (p *planner) attemptFailed() bool {
	a := p.w.Attempt
	return a != nil && a.State == store.AttemptFailed
}

func (p *planner) attemptOpen() bool {
	a := p.w.Attempt
	return a != nil && !a.State.Final()
}

// settle records the end of the attempt, once.
func (p *planner) settle(state store.AttemptState, reason Reason, message string) {
	if !p.attemptOpen() {
		return
	}
	u := *p.w.Attempt
	u.State, u.Reason, u.Message = state, string(reason), message
	if p.w.Release != nil {
		u.ReleaseID = p.w.Release.ID
	}
	p.act(Action{Kind: ActAttempt, Attempt: &u})
}

// fail ends the attempt; what serves goes on serving. Without anything that
// serves, the service tries again later.
func (p *planner) fail(reason Reason, message string) {
	p.settle(store.AttemptFailed, reason, message)
	if p.w.Active == nil {
		p.act(Action{Kind: ActNoteRetry, Why: string(reason)})
	}
	p.condition(reconcile.False, reason, message)
}

// suspend takes everything down and keeps it down.
func (p *planner) suspend() {
	w := p.w
	p.wanted = map[*Group]bool{}
	if w.Active != nil && len(w.Active.Targets) > 0 {
		row := *w.Active
		row.Targets = nil
		p.act(Action{Kind: ActSetActive, Active: &row, Why: "suspended"})
		p.condition(reconcile.Unknown, ReasonSuspending, "traffic is being taken off")
		return
	}
	p.retire(nil)
	p.freeLeaked()
	if len(w.Groups) > 0 {
		p.condition(reconcile.Unknown, ReasonSuspending, fmt.Sprintf("%d containers are being removed", len(w.Groups)))
		return
	}
	p.settle(store.AttemptSucceeded, ReasonSuspended, "suspended")
	p.condition(reconcile.Unknown, ReasonSuspended, "suspended: no container runs")
}

// resolve turns the desired image into a release.
func (p *planner) resolve() {
	w := p.w
	p.wanted = map[*Group]bool{}
	if w.Active != nil {
		p.keepServing()
	}
	img := w.Image
	switch {
	case p.attemptFailed() && w.Now.Before(w.RetryAt):
		p.wake(w.RetryAt)
		p.condition(reconcile.False, Reason(w.Attempt.Reason), w.Attempt.Message)
	case img.Present != nil:
		p.act(Action{Kind: ActWriteRelease, Release: releaseFor(w.Desired, img)})
		p.progress(ReasonResolvingImage, "the image is known, the release is being written")
	case img.Failure != "":
		p.fail(img.Failure, img.FailureDetail)
	case img.Pulling:
		p.recheck()
		p.progress(ReasonPullingImage, img.Progress)
	default:
		p.act(Action{Kind: ActPull, Why: w.Desired.Image})
		p.recheck()
		p.progress(ReasonResolvingImage, "image "+w.Desired.Image+" is not on the engine: asking its registry")
	}
}

// progress is the condition of a service that is on its way: what serves
// meanwhile decides whether it is ready.
func (p *planner) progress(reason Reason, message string) {
	if p.w.Active != nil && len(p.w.Active.Targets) > 0 {
		p.condition(reconcile.True, ReasonRollingOut, message)
		return
	}
	p.condition(reconcile.False, reason, message)
}

// releaseFor is the record of what the desired service resolves to.
func releaseFor(d *store.DesiredService, img ImageState) *store.Release {
	hash := d.Spec.Hash()
	r := &store.Release{
		Service: d.Name, AppID: d.AppID, Image: d.Image, ImageID: img.Present.ID, Spec: d.Spec,
		SpecHash: hash, RestartNonce: d.RestartNonce, Nonce: releaseNonce(hash, d.RestartNonce), AttemptID: d.AttemptID,
	}
	if digest := digestFor(d.Image, img.Present.Digests); digest != "" {
		r.Resolved = digest
	} else {
		r.Resolved, r.Local = img.Present.ID, true
	}
	return r
}
