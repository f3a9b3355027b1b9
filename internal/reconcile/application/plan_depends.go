package application

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
)

// waitsForOthers reports whether a new release may not start yet, because a
// service that it depends on is not there.
func (p *planner) waitsForOthers() bool { return p.attemptOpen() && len(p.w.Dependencies) > 0 }

// waitForOthers waits for dependencies, within the time that the service gives
// them.
func (p *planner) waitForOthers() {
	w := p.w
	limit := cmp.Or(w.Desired.Spec.DependsTimeout, spec.DefaultDependsTimeout)
	deadline := w.AttemptAt.Add(limit)
	var missing []string
	for _, d := range w.Dependencies {
		if d.Failed {
			p.fail(ReasonDependencyFailed, fmt.Sprintf("it depends on %s, and %s", d.Service, d.Detail))
			return
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
