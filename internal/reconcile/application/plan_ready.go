package application

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
)

// verdict is what a container shows about its readiness.
type verdict struct {
	ready  bool
	failed Reason // set when it will not become ready
	detail string
	again  time.Time // when to look again if neither
}

// judge says whether a container that was started is ready.
func judge(w *World, svc *spec.Service, s spec.Member, m *Member) verdict {
	switch m.Status {
	case docker.StatusRunning:
		return judgeRunning(w, svc, s, m)
	case docker.StatusExited, docker.StatusDead:
		when := " before it was ready"
		if proved(s, m) {
			when = " while it was watched until it proved stable"
		}
		return verdict{failed: endReason(s, m), detail: explainEnd(m, when)}
	case docker.StatusPaused:
		if !w.Now.Before(readyDeadline(m, svc)) {
			return verdict{failed: ReasonReadinessFailed, detail: explainPaused(m)}
		}
		return verdict{again: w.Now.Add(w.Timing.Recheck), detail: explainPaused(m)}
	case docker.StatusCreated, docker.StatusRestarting, docker.StatusRemoving:
	}
	return verdict{again: w.Now.Add(w.Timing.Recheck), detail: fmt.Sprintf("container %s is %s", m.Name, m.Status)}
}

// probed reports whether a container is asked from outside, or by a command,
// before it counts as ready.
func probed(s spec.Member) bool { return s.Port > 0 || s.Readiness != nil }

func judgeRunning(w *World, svc *spec.Service, s spec.Member, m *Member) verdict {
	// What must have passed before it is ready, each a moment.
	steadyFrom := m.Started
	if probed(s) {
		steadyFrom = m.Ready.ReadySince
	}
	until := steadyFrom.Add(svc.StableWindow)
	if s.Readiness == nil {
		if watched := m.Started.Add(w.Timing.StartupWatch); watched.After(until) {
			until = watched
		}
	}
	deadline := readyDeadline(m, svc)
	if p := unpublished(m, s); p != "" {
		if !w.Now.Before(deadline) {
			return verdict{failed: ReasonPortNotPublished, detail: fmt.Sprintf("container %s runs, but the engine did not open %s for it", m.Name, p)}
		}
		return verdict{again: w.Now.Add(portRecheck), detail: p + " is not open yet"}
	}
	switch {
	case probed(s) && m.Ready.ReadySince.IsZero():
		if !w.Now.Before(deadline) {
			return verdict{failed: ReasonReadinessFailed, detail: explainUnready(svc.ReadyTimeout, m)}
		}
		next := m.Ready.Due
		if next.IsZero() || next.After(deadline) {
			next = deadline
		}
		return verdict{again: next, detail: m.Ready.Last}
	case w.Now.Before(until):
		next := until
		if probed(s) && !m.Ready.Due.IsZero() && m.Ready.Due.Before(next) {
			next = m.Ready.Due
		}
		return verdict{again: next, detail: "ready, being watched until it proved stable"}
	}
	return verdict{ready: true}
}

// portRecheck is the wait between two looks for a published port.
const portRecheck = 200 * time.Millisecond

// unpublished is a port of the host that the spec publishes and the engine does
// not list as bound, in words, or "". Dialling it would prove nothing: the
// engine's own proxy answers for a container that does not listen.
func unpublished(m *Member, s spec.Member) string {
	for _, p := range s.Publish {
		bound := slices.ContainsFunc(m.Ports, func(b docker.PortBinding) bool {
			return b.ContainerPort == p.Port && b.Protocol == cmp.Or(p.Protocol, "tcp") && b.HostPort != 0 && (!p.Pinned() || b.HostPort == p.HostPort)
		})
		switch {
		case bound:
		case p.Pinned():
			return fmt.Sprintf("port %d of the host", p.HostPort)
		default:
			return fmt.Sprintf("a port of the host for port %d", p.Port)
		}
	}
	return ""
}

// endNoticed is how long an engine may take to list a container as ended: a
// process that dies refuses probes before anyone hears of its end.
const endNoticed = time.Second

// readyDeadline is when a container's time to become ready is over: counted
// from its start, or from when we began to look if that was later. One that was
// ready and stops answering is first given the time in which its end would show.
func readyDeadline(m *Member, s *spec.Service) time.Time {
	from := m.Started
	if m.Ready.Since.After(from) {
		from = m.Ready.Since
	}
	deadline := from.Add(s.ReadyTimeout)
	if ended := m.Ready.LostAt.Add(endNoticed); !m.Ready.LostAt.IsZero() && ended.After(deadline) {
		return ended
	}
	return deadline
}

func expired(m *Member, s *spec.Service, now time.Time) bool {
	return m.Ready.ReadySince.IsZero() && !now.Before(readyDeadline(m, s))
}

// endReason tells why a container that should become ready has ended.
func endReason(s spec.Member, m *Member) Reason {
	stable := proved(s, m)
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

// proved reports whether a container had answered as it should before it ended.
func proved(s spec.Member, m *Member) bool {
	return probed(s) && (!m.Ready.ReadySince.IsZero() || !m.Ready.LostAt.IsZero())
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
		fmt.Fprintf(&b, "container %s exited with code %d%s%s", m.Name, m.Exit.Code, m.Exit.Doubt(), when)
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
	if !m.Ready.LostAt.IsZero() {
		return fmt.Sprintf("container %s was ready, but no longer, and not again within %s of its start: %s%s", m.Name, budget, last, lastLines(m))
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
