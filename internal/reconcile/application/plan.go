package application

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	case d.Stopped:
		p.stop()
	case w.Release == nil && !(p.attemptFailed() && w.ActiveRelease != nil):
		p.resolve()
	case w.Release != nil && !known(d.Spec.Strategy):
		p.condition(reconcile.False, ReasonStrategyUnknown, fmt.Sprintf("strategy %q is not one this version knows", d.Spec.Strategy))
	default:
		p.converge()
	}
	p.spareAway()
	return p.plan
}

func known(s spec.Strategy) bool {
	return s == spec.BlueGreen || s == spec.Rolling || s == spec.Recreate
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
	ready := p.approach(goal)
	p.retire(goal)
	p.freeLeaked()
	p.report(goal, ready)
}

// approach takes the next steps towards a release and returns how many of its
// replicas serve.
func (p *planner) approach(goal *store.Release) int {
	w := p.w
	switch {
	case p.attemptOpen() && w.Failure != nil:
		p.keepServing()
		p.fail(w.Failure.Reason, w.Failure.Detail)
	case goal.Spec.Completes():
		p.complete(goal)
	case p.isActive(goal) && p.mixed(goal) && p.rolls(goal):
		return p.rollOver(goal)
	case p.isActive(goal):
		return p.steady(goal)
	case p.waitsForOthers(goal):
		p.keepServing()
		p.waitForOthers()
	case w.Active != nil && handsOver(goal, w.ActiveRelease):
		p.handOver(goal)
	case w.Active != nil && p.rolls(goal):
		return p.rollOver(goal)
	default:
		if w.Active != nil {
			p.keepServing()
		}
		p.rollForward(goal)
	}
	return 0
}

// isActive reports whether traffic goes to what the release runs.
func (p *planner) isActive(r *store.Release) bool {
	if r.Spec.Completes() { // each release runs, though one before it was the same
		return p.w.Active != nil && p.w.Active.ReleaseID == r.ID
	}
	return p.w.Active != nil && (p.w.Active.ReleaseID == r.ID || sameContent(r, p.w.ActiveRelease))
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

// resolve turns the desired image into a release.
func (p *planner) resolve() {
	w := p.w
	p.wanted = map[*Group]bool{}
	if w.Active != nil {
		p.keepServing()
	}
	if p.attemptFailed() && w.Now.Before(w.RetryAt) {
		p.wake(w.RetryAt)
		p.condition(reconcile.False, Reason(w.Attempt.Reason), w.Attempt.Message)
		return
	}
	if missing := missingSecrets(w); len(missing) > 0 {
		p.fail(ReasonSecretMissing, fmt.Sprintf("%s has no value for %s, which it requires", w.Desired.Name, strings.Join(missing, ", ")))
		return
	}
	present := 0
	for _, img := range w.Images {
		switch {
		case img.Present != nil:
			present++
		case img.Failure != "":
			p.fail(img.Failure, img.FailureDetail)
			return
		case img.Pulling:
			p.recheck()
			p.progress(ReasonPullingImage, img.Progress)
		default:
			p.act(Action{Kind: ActPull, Why: cmp.Or(img.Fetch, img.Ref)})
			p.recheck()
			p.progress(ReasonResolvingImage, "image "+img.Ref+" is not on the engine: asking its registry")
		}
	}
	if present == len(w.Images) {
		p.act(Action{Kind: ActWriteRelease, Release: releaseFor(w)})
		p.progress(ReasonResolvingImage, "the image is known, the release is being written")
	}
}

// missingSecrets are the values that the service cannot do without and that the
// vault does not have.
func missingSecrets(w *World) []string {
	var out []string
	for _, ref := range w.Desired.Spec.SecretRefs() {
		if !ref.Optional && w.Secrets[ref.Key] == 0 && !slices.Contains(out, ref.Key) {
			out = append(out, ref.Key)
		}
	}
	return out
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
func releaseFor(w *World) *store.Release {
	d := w.Desired
	stamped := d.Spec.WithSecretVersions(func(ref spec.SecretRef) int64 { return w.Secrets[ref.Key] })
	r := &store.Release{
		Service: d.Name, AppID: d.AppID, Image: d.Image, Spec: stamped, SpecHash: stamped.Hash(),
		RestartNonce: d.RestartNonce, AttemptID: d.AttemptID,
	}
	for i, m := range d.Spec.Members() {
		found := w.Images[i]
		img := store.MemberImage{Name: m.Name, Image: found.Ref, ImageID: found.Present.ID}
		if img.Resolved = digestFor(found.Ref, found.Present.Digests); img.Resolved == "" {
			img.Resolved, img.Local = img.ImageID, true
		}
		if m.Role == spec.RoleMain {
			r.Resolved, r.ImageID, r.Local = img.Resolved, img.ImageID, img.Local
			continue
		}
		r.Members = append(r.Members, img)
	}
	r.Nonce = releaseNonce(r.SpecHash, r.Members, d.RestartNonce)
	return r
}
