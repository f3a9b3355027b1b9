package application

import (
	"fmt"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/store"
)

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

// stop takes traffic off and stops every container of what serves; the
// containers, with their volumes and addresses, stay for the next start.
func (p *planner) stop() {
	w := p.w
	p.wanted = map[*Group]bool{}
	keep := w.ActiveRelease
	if keep == nil {
		keep = w.Release
	}
	if w.Active != nil && len(w.Active.Targets) > 0 {
		row := *w.Active
		row.Targets = nil
		p.act(Action{Kind: ActSetActive, Active: &row, Why: "stopped"})
		p.condition(reconcile.Unknown, ReasonStopping, "traffic is being taken off")
		return
	}
	running := false
	if keep != nil {
		p.want(keep)
	}
	for i := range w.Groups {
		if g := &w.Groups[i]; g.Running() {
			running = true
			if p.wanted[g] {
				p.stopWhenDrained(g)
			}
		}
	}
	p.retire(nil)
	p.freeLeaked()
	if running {
		p.condition(reconcile.Unknown, ReasonStopping, "containers are being stopped")
		return
	}
	p.settle(store.AttemptSucceeded, ReasonStopped, "stopped; its containers and volumes are kept")
	p.condition(reconcile.Unknown, ReasonStopped, "stopped: its containers are kept and none runs")
}
