package application

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// asked is one container with the probe that is due for it.
type asked struct {
	g    *Group
	m    *Member
	r    *store.Release
	spec spec.Member
	live bool // a liveness probe; else one of readiness
}

// probeDue probes every running container that has yet to prove itself, and
// those whose liveness is due, all at once, and notes what was found.
func (c *Controller) probeDue(ctx context.Context, w *World) {
	due := c.due(w)
	together(len(due), func(i int) { c.ask(ctx, &due[i]) })
	w.Now = c.now()
	c.quoteLate(ctx, w)
	c.noteProven(w)
}

func (c *Controller) due(w *World) []asked {
	var due []asked
	for i := range w.Groups {
		g := &w.Groups[i]
		serving := w.target(g.Name) != nil
		r, standsIn := c.askedFor(w, g)
		if r == nil {
			continue
		}
		for j := range g.Members {
			m := &g.Members[j]
			s := specFor(r, m)
			if m.Role == spec.RoleInit || m.Status != docker.StatusRunning || s.Name == "" || m.Away {
				continue
			}
			unproven := !serving || m.Recheck
			switch {
			case !serving && !m.Recheck && hung(s, m): // nothing is stopped on an old answer
				due = append(due, asked{g: g, m: m, r: r, spec: s, live: true})
			case unproven && probed(s) && (!w.Now.Before(m.Ready.Due) || serving): // nothing is unrouted on an old answer
				due = append(due, asked{g: g, m: m, r: r, spec: s})
			case !unproven && !standsIn && s.Liveness != nil && !w.Now.Before(m.Live.Due):
				due = append(due, asked{g: g, m: m, r: r, spec: s, live: true})
			}
		}
	}
	return due
}

// ask performs one probe and takes in the answer.
func (c *Controller) ask(ctx context.Context, a *asked) {
	declared := a.spec.Readiness
	if a.live {
		declared = a.spec.Liveness
	}
	ok, detail := c.probe(ctx, a.m, a.spec.Port, declared)
	if ctx.Err() != nil {
		return // an interrupted probe says nothing
	}
	rec := c.memory.record(c.service, a.m.ID)
	if a.live {
		a.m.Live = rec.noteLive(ok, detail, c.now(), declared, a.r.Spec.ReadyTimeout)
		return
	}
	a.m.Ready = rec.noteProbe(ok, detail, c.now(), declared)
}

func (c *Controller) probe(ctx context.Context, m *Member, port int, declared *spec.Probe) (bool, string) {
	if declared != nil && len(declared.Exec) > 0 {
		return c.execProbe(ctx, m, declared)
	}
	if declared != nil && declared.Port > 0 {
		port = declared.Port
	}
	if !m.Address.IsValid() {
		return false, "the container has no address yet"
	}
	return c.prober.Probe(ctx, netip.AddrPortFrom(m.Address, uint16(port)), declared)
}

// execOutput bounds what is quoted of a probe's output.
const execOutput = 512

// execProbe runs the probe's command in the container.
func (c *Controller) execProbe(ctx context.Context, m *Member, declared *spec.Probe) (bool, string) {
	timeout := declared.Timeout
	if timeout <= 0 {
		timeout = spec.DefaultProbeTimeout
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var out boundedText
	code, err := c.rt.Exec(within, m.ID, docker.ExecSpec{Command: declared.Exec, Stdout: &out, Stderr: &out})
	name := fmt.Sprintf("command %q", strings.Join(declared.Exec, " "))
	switch {
	case err != nil && within.Err() != nil:
		return false, fmt.Sprintf("%s did not end within %s", name, timeout)
	case err != nil:
		return false, fmt.Sprintf("%s could not be run: %v", name, err)
	case code != 0:
		return false, fmt.Sprintf("%s exited with code %d%s", name, code, out.quote())
	}
	return true, ""
}

// boundedText keeps the beginning of what is written to it.
type boundedText struct{ text []byte }

func (b *boundedText) Write(p []byte) (int, error) {
	if room := execOutput - len(b.text); room > 0 {
		b.text = append(b.text, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (b *boundedText) quote() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(b.text), "�"))
	if text == "" {
		return ""
	}
	return fmt.Sprintf(": %q", text)
}

// quoteLate reads the last lines of containers whose time to become ready is
// over, for the failure that the plan will make of it.
func (c *Controller) quoteLate(ctx context.Context, w *World) {
	for i := range w.Groups {
		g := &w.Groups[i]
		r := c.provingFor(w, g)
		if r == nil {
			continue
		}
		for j := range g.Members {
			m := &g.Members[j]
			if m.Status != docker.StatusRunning || m.Away {
				continue
			}
			late := probed(specFor(r, m)) && expired(m, &r.Spec, w.Now)
			if m.Role == spec.RoleInit {
				late = !w.Now.Before(m.Started.Add(w.Timing.InitTimeout))
			}
			if late {
				m.LastLog = c.tail(ctx, &docker.ContainerState{ID: m.ID, Name: m.Name})
			}
		}
	}
}

// provingFor is the release that a group has to prove itself for, and whose
// liveness counts for it; nil when it has nothing to prove.
func (c *Controller) provingFor(w *World, g *Group) *store.Release {
	failed := w.Attempt != nil && w.Attempt.State == store.AttemptFailed && w.ActiveRelease != nil
	switch {
	case w.Active != nil && g.matches(w.ActiveRelease):
		return w.ActiveRelease
	case !failed && g.matches(w.Release):
		return w.Release
	}
	return nil
}

// askedFor is the release whose probes a group is asked with; nil: with none. A
// group that takes traffic and is left by a change that failed or was overtaken
// stands in: it shows that it is ready once it has ended, and no more.
func (c *Controller) askedFor(w *World, g *Group) (r *store.Release, standsIn bool) {
	if r = c.provingFor(w, g); r == nil && w.target(g.Name) != nil {
		return w.origin(g), true
	}
	return r, false
}

// noteProven clears the mark of a crash on containers that are ready again.
func (c *Controller) noteProven(w *World) {
	for i := range w.Groups {
		g := &w.Groups[i]
		serving := w.target(g.Name) != nil
		r, _ := c.askedFor(w, g)
		if r == nil {
			continue
		}
		for j := range g.Members {
			m := &g.Members[j]
			s := specFor(r, m)
			if m.Status != docker.StatusRunning || !m.Recheck || m.Role == spec.RoleInit || s.Name == "" {
				continue
			}
			if judge(w, &r.Spec, s, m).ready || serving && (!probed(s) || !m.Ready.ReadySince.IsZero()) {
				c.memory.record(c.service, m.ID).proven(m.Started)
				m.Recheck = false
			}
		}
	}
}

// livenessInterval is the time between two liveness probes.
func livenessInterval(declared *spec.Probe) time.Duration {
	if declared.Interval > 0 {
		return declared.Interval
	}
	return spec.DefaultLivenessInterval
}
