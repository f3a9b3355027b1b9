package application

import (
	"fmt"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// step is where a container is on the way of its group.
type step int

const (
	stepMissing step = iota // it has to be made
	stepBlocked             // it stands, and its turn to start has not come
	stepIdle                // it has to be started for the first time
	stepEnded               // it ran, and does no more
	stepBusy                // it runs and is not ready, or is between two states
	stepReady
)

// place is one container of a group with what it shows.
type place struct {
	spec.Member
	m       *Member // nil when it is missing
	step    step
	verdict verdict
}

// survey looks at every container that a group of the release has, in the order
// in which they start: inits one after the other, then the main container, with
// the sidecars that it waits for before it and the others after it.
func survey(w *World, r *store.Release, g *Group) []place {
	members := r.Spec.Members()
	before := sidecarsBefore(&r.Spec)
	out := make([]place, 0, len(members))
	initsDone := true
	for _, s := range members {
		p := place{Member: s, m: g.member(s)}
		turn := initsDone
		switch s.Role {
		case spec.RoleInit:
			if p.m == nil && !g.Main().Started.IsZero() {
				p.step = stepReady // it did its work before the main container ran
				out = append(out, p)
				continue
			}
		case spec.RoleMain:
			turn = turn && settled(w, r, g, s.DependsOn)
		case spec.RoleSidecar:
			turn = turn && settled(w, r, g, s.DependsOn) && (before[s.Name] || g.Main().live())
		}
		if p.m != nil {
			p.step, p.verdict = locate(w, r, s, p.m, turn)
			if s.Role != spec.RoleInit && w.trusted(g, p.m) {
				p.step, p.verdict = stepReady, verdict{ready: true}
			}
		}
		if s.Role == spec.RoleInit && p.step != stepReady {
			initsDone = false
		}
		out = append(out, p)
	}
	return out
}

// locate says where one container is that stands.
func locate(w *World, r *store.Release, s spec.Member, m *Member, turn bool) (step, verdict) {
	switch {
	case m.Status == docker.StatusCreated && !turn, m.ended() && !turn && s.Role != spec.RoleInit:
		return stepBlocked, verdict{}
	case m.Status == docker.StatusCreated:
		return stepIdle, verdict{}
	case s.Role == spec.RoleInit:
		return locateInit(w, m)
	}
	v := judge(w, &r.Spec, s, m)
	switch {
	case m.ended():
		return stepEnded, v
	case v.ready:
		return stepReady, v
	}
	return stepBusy, v
}

func locateInit(w *World, m *Member) (step, verdict) {
	switch {
	case m.completed():
		return stepReady, verdict{ready: true}
	case m.ended():
		return stepEnded, verdict{failed: ReasonInitFailed, detail: explainEnd(m, "")}
	}
	deadline := m.Started.Add(w.Timing.InitTimeout)
	switch {
	case w.Now.Before(deadline):
		return stepBusy, verdict{again: deadline, detail: "container " + m.Name + " runs"}
	case m.live():
		return stepBusy, verdict{failed: ReasonInitFailed, detail: fmt.Sprintf("container %s did not end within %s%s", m.Name, w.Timing.InitTimeout, lastLines(m))}
	}
	return stepBusy, verdict{again: w.Now.Add(w.Timing.Recheck), detail: fmt.Sprintf("container %s is %s", m.Name, m.Status)}
}

// trusted reports whether a container takes traffic with its group and has not
// ended since it was found ready: nothing is asked of it again.
func (w *World) trusted(g *Group, m *Member) bool {
	return w.target(g.Name) != nil && m.Status == docker.StatusRunning && !m.Recheck
}

// settled reports whether members that others wait for run, and are ready where
// they say how that shows.
func settled(w *World, r *store.Release, g *Group, names []string) bool {
	for _, name := range names {
		s := specOf(r, name)
		m := g.member(s)
		switch {
		case m == nil && s.Role == spec.RoleInit && !g.Main().Started.IsZero():
		case m == nil || s.Role == spec.RoleInit && !m.completed():
			return false
		case s.Role == spec.RoleInit, w.trusted(g, m):
		case m.Status != docker.StatusRunning, s.Readiness != nil && m.Ready.ReadySince.IsZero():
			return false
		}
	}
	return true
}

// specOf finds a member of a release by its name.
func specOf(r *store.Release, name string) spec.Member {
	for _, s := range r.Spec.Members() {
		if s.Name == name {
			return s
		}
	}
	return spec.Member{}
}

// specFor is the member of a release that a container of it is; see [Group.member].
func specFor(r *store.Release, m *Member) spec.Member {
	if m.Role == spec.RoleMain {
		return r.Spec.Main()
	}
	return specOf(r, m.Member)
}

// sidecarsBefore are those that start before the main container, because it
// waits for them or for one that does.
func sidecarsBefore(s *spec.Service) map[string]bool {
	before := map[string]bool{}
	var add func(names []string)
	add = func(names []string) {
		for _, n := range names {
			if before[n] {
				continue
			}
			before[n] = true
			for i := range s.Sidecars {
				if s.Sidecars[i].Name == n {
					add(s.Sidecars[i].DependsOn)
				}
			}
		}
	}
	add(s.SidecarsFirst)
	return before
}
