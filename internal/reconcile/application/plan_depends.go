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

// waitsForOthers reports whether a new release may not start yet, because a
// service that it depends on is not there. Once it has begun to start, whatever
// goes away stops it no more.
func (p *planner) waitsForOthers(goal *store.Release) bool {
	return p.w.comesUp() && len(p.w.Dependencies) > 0 && !p.w.begun(goal)
}

// comesUp reports whether the desired release is yet to come up: by the attempt,
// or by one try after another where nothing serves.
func (w *World) comesUp() bool {
	if w.Attempt == nil {
		return false
	}
	return !w.Attempt.State.Final() || w.Attempt.State == store.AttemptFailed && w.Active == nil
}

// begun reports whether the attempt has started anything of a release.
func (w *World) begun(r *store.Release) bool {
	return slices.ContainsFunc(w.Groups, func(g Group) bool {
		return g.matches(r) && slices.ContainsFunc(g.Members, func(m Member) bool {
			return m.live() || !m.Started.IsZero() && !m.Started.Before(w.AttemptAt)
		})
	})
}

// quietRecheck is the wait between two looks for a container of another service:
// only changes on record wake who waits.
const quietRecheck = time.Second

// waitForOthers waits for dependencies, within the time that the service gives
// them.
func (p *planner) waitForOthers() {
	w := p.w
	if p.waitsToRetry() {
		return
	}
	limit := cmp.Or(w.Desired.Spec.DependsTimeout, spec.DefaultDependsTimeout)
	deadline := w.AttemptAt.Add(limit)
	var missing []string
	for _, d := range w.Dependencies {
		if d.Failed {
			p.fail(ReasonDependencyFailed, fmt.Sprintf("it depends on %s, and %s", d.Service, d.Detail))
			return
		}
		if d.Quiet {
			p.wake(w.Now.Add(quietRecheck))
		}
		missing = append(missing, d.Service+": "+d.Detail)
	}
	text := strings.Join(missing, "; ")
	if !w.Now.Before(deadline) {
		p.fail(ReasonDependencyLate, fmt.Sprintf("what it depends on was not there within %s (%s); raise depends_timeout if it only needs longer", limit, text))
		return
	}
	p.wake(deadline)
	p.recheck()
	status := reconcile.Unknown
	if w.Active != nil && len(w.Active.Targets) > 0 {
		status = reconcile.True
	}
	p.condition(status, ReasonWaiting, "it waits for "+text)
}
