package application

import (
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// lookAway is a container as it was last known, on a node that cannot be asked. One
// that took traffic then is trusted to go on.
func (c *Controller) lookAway(w *World, s *docker.ContainerState, rec *record, full *docker.ContainerState) *Member {
	if full == nil {
		// A list does not say since when it runs: its time has not begun before now.
		listed := *s
		if listed.Running() && listed.Started.IsZero() {
			listed.Started = w.Now
		}
		full = &listed
	}
	m := rec.member(full, w.Now, w.Timing)
	m.Node, m.Away = s.Node, true
	if w.target(mainName(full.Name)) != nil {
		m.Recheck = false
	}
	return m
}

// spareAway takes out what would touch containers whose node cannot be asked: it would
// fail, and keep the rest of the plan from being done. It is planned again once the node
// is back, or is known to be gone.
func (p *planner) spareAway() {
	away := p.w.away()
	if len(away) == 0 {
		return
	}
	before := len(p.plan.Actions)
	p.plan.Actions = slices.DeleteFunc(p.plan.Actions, func(a Action) bool {
		switch a.Kind {
		case ActFill, ActStart, ActSetRestart, ActStop, ActRemove:
			return away[a.Container] != ""
		case ActPull, ActWriteRelease, ActEnsureNetwork, ActEnsureVolume, ActCreate, ActSetActive, ActFreeAddress,
			ActAttempt, ActNoteRetry, ActRemoveVolume:
		}
		return false
	})
	if len(p.plan.Actions) < before {
		p.recheck()
	}
	if k := &p.plan.Condition; k.Status == reconcile.True && Reason(k.Reason) == ReasonDeployed {
		p.condition(reconcile.True, ReasonNodeOffline, fmt.Sprintf("%s; %d of its containers are on nodes that are offline, and were running when last seen",
			k.Message, len(away)))
	}
}

// away are the containers whose node cannot be asked, with that node.
func (w *World) away() map[string]string {
	var out map[string]string
	for i := range w.Groups {
		for j := range w.Groups[i].Members {
			if m := &w.Groups[i].Members[j]; m.Away {
				if out == nil {
					out = map[string]string{}
				}
				out[m.Name] = m.Node
			}
		}
	}
	return out
}
