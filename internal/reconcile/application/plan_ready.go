package application

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// verdict is what a group's containers show about it.
type verdict struct {
	ready  bool
	failed Reason // set when it will not become ready
	detail string
	again  time.Time // when to look again if neither
}

// judge says whether a started group is ready to take traffic.
func judge(w *World, r *store.Release, g *Group) verdict {
	m := g.Main()
	switch m.Status {
	case docker.StatusRunning:
		return judgeRunning(w, r, m)
	case docker.StatusExited, docker.StatusDead:
		when := " before it was ready"
		if proved(r, m) {
			when = " while it was watched until it proved stable"
		}
		return verdict{failed: endReason(r, m), detail: explainEnd(m, when)}
	case docker.StatusPaused:
		if !w.Now.Before(readyDeadline(m, &r.Spec)) {
			return verdict{failed: ReasonReadinessFailed, detail: explainPaused(m)}
		}
		return verdict{again: w.Now.Add(w.Timing.Recheck), detail: explainPaused(m)}
	case docker.StatusCreated, docker.StatusRestarting, docker.StatusRemoving:
	}
	return verdict{again: w.Now.Add(w.Timing.Recheck), detail: fmt.Sprintf("container %s is %s", m.Name, m.Status)}
}

func judgeRunning(w *World, r *store.Release, m *Member) verdict {
	s := &r.Spec
	probed := s.Port > 0
	// What must have passed before it is ready, each a moment.
	steadyFrom := m.Started
	if probed {
		steadyFrom = m.Ready.ReadySince
	}
	until := steadyFrom.Add(s.StableWindow)
	if s.Readiness == nil {
		if watched := m.Started.Add(w.Timing.StartupWatch); watched.After(until) {
			until = watched
		}
	}
	deadline := readyDeadline(m, s)
	if p := unpublished(m, s); p != 0 {
		if !w.Now.Before(deadline) {
			return verdict{failed: ReasonPortNotPublished, detail: fmt.Sprintf("container %s runs, but the engine did not open port %d of the host for it", m.Name, p)}
		}
		return verdict{again: w.Now.Add(portRecheck), detail: fmt.Sprintf("port %d of the host is not open yet", p)}
	}
	switch {
	case probed && m.Ready.ReadySince.IsZero():
		if !w.Now.Before(deadline) {
			return verdict{failed: ReasonReadinessFailed, detail: explainUnready(s.ReadyTimeout, m)}
		}
		next := m.Ready.Due
		if next.IsZero() || next.After(deadline) {
			next = deadline
		}
		return verdict{again: next, detail: m.Ready.Last}
	case w.Now.Before(until):
		next := until
		if probed && !m.Ready.Due.IsZero() && m.Ready.Due.Before(next) {
			next = m.Ready.Due
		}
		return verdict{again: next, detail: "ready, being watched until it proved stable"}
	}
	return verdict{ready: true}
}

// portRecheck is the wait between two looks for a published port.
const portRecheck = 200 * time.Millisecond

// unpublished is a host port that the spec publishes and the engine does not
// list as bound, or 0. Dialling it would prove nothing: the engine's own proxy
// answers for a container that does not listen.
func unpublished(m *Member, s *spec.Service) int {
	for _, p := range s.Publish {
		if !slices.ContainsFunc(m.Ports, func(b docker.PortBinding) bool { return b.HostPort == p.HostPort && b.ContainerPort == p.Port }) {
			return p.HostPort
		}
	}
	return 0
}

// readyDeadline is when a container's time to become ready is over: counted
// from its start, or from when we began to look if that was later.
func readyDeadline(m *Member, s *spec.Service) time.Time {
	from := m.Started
	if m.Ready.Since.After(from) {
		from = m.Ready.Since
	}
	return from.Add(s.ReadyTimeout)
}

func expired(m *Member, s *spec.Service, now time.Time) bool {
	return m.Ready.ReadySince.IsZero() && !now.Before(readyDeadline(m, s))
}

// endReason tells why a container that should become ready has ended.
func endReason(r *store.Release, m *Member) Reason {
	stable := proved(r, m)
	switch {
	case m.Exit.OOMKilled && stable:
		return ReasonOOMStable
	case m.Exit.OOMKilled:
		return ReasonOOMKilled
	case stable:
		return ReasonExitedStable
	}
	return ReasonExited
}

// proved reports whether a container had answered as it should when it ended.
func proved(r *store.Release, m *Member) bool {
	return r.Spec.Port > 0 && !m.Ready.ReadySince.IsZero()
}

func explainPaused(m *Member) string {
	return fmt.Sprintf("container %s is paused; `docker unpause %s` lets it go on", m.Name, m.Name)
}

// explainEnd words the end of a container; when says at which point of its
// life, with a blank in front, or nothing.
func explainEnd(m *Member, when string) string {
	var b strings.Builder
	switch {
	case m.Exit.OOMKilled:
		fmt.Fprintf(&b, "container %s ran out of memory and was killed (exit code %d); raise resources.memory or make it need less", m.Name, m.Exit.Code)
	case m.Exit.Error != "":
		fmt.Fprintf(&b, "container %s could not run: %s", m.Name, m.Exit.Error)
	default:
		fmt.Fprintf(&b, "container %s exited with code %d%s", m.Name, m.Exit.Code, when)
		if ran := m.Exit.FinishedAt.Sub(m.Exit.StartedAt); ran > 0 && !m.Exit.StartedAt.IsZero() {
			fmt.Fprintf(&b, ", %s after its start", ran.Round(time.Millisecond))
		}
	}
	return b.String() + lastLines(m)
}

func explainUnready(budget time.Duration, m *Member) string {
	last := m.Ready.Last
	if last == "" {
		last = "no probe was answered"
	}
	return fmt.Sprintf("container %s was not ready within %s: %s; if it only needs longer, raise health.ready_timeout%s",
		m.Name, budget, last, lastLines(m))
}

func lastLines(m *Member) string {
	if len(m.LastLog) == 0 {
		return ""
	}
	return "; its last lines:\n  " + strings.Join(m.LastLog, "\n  ")
}
