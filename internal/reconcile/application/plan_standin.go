package application

import (
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// standIns are other groups that take traffic and go on serving while wanted
// ones are not ready: neither a scale-down nor the end of a rolling change costs
// the last ready replica.
func (p *planner) standIns(r *store.Release, want, ready int) []store.ActiveTarget {
	var out []store.ActiveTarget
	for i := range p.w.Groups {
		g := &p.w.Groups[i]
		if ready+len(out) >= want {
			break
		}
		if !p.wanted[g] && p.serves(g) && (g.Replica >= want || !g.matches(r)) {
			p.wanted[g] = true
			out = append(out, *p.w.target(g.Name))
		}
	}
	return out
}

// standInsAgain keeps replicas beyond the wanted ones while nothing serves, and
// returns as many as are wanted of those that are ready: one that stood in and has
// ended is as likely to come round as the one it stands in for.
func (p *planner) standInsAgain(r *store.Release, want int) []store.ActiveTarget {
	var out []store.ActiveTarget
	for i := range p.w.Groups {
		g := &p.w.Groups[i]
		if !g.matches(r) || g.Replica < want || !g.Main().live() {
			continue
		}
		p.wanted[g] = true
		for _, c := range survey(p.w, r, g) {
			switch {
			case c.Role != spec.RoleMain:
			case c.step == stepReady && len(out) < want:
				out = append(out, targetOf(r, g))
			case c.step == stepReady:
			case c.verdict.failed == "":
				p.wake(c.verdict.again)
			default:
				p.recheck()
			}
		}
	}
	return out
}

// serves reports whether the group takes traffic and can.
func (p *planner) serves(g *Group) bool {
	m := g.Main()
	return p.w.target(g.Name) != nil && m.Status == docker.StatusRunning && !m.Recheck && p.w.genuine(g)
}
