package dockerprovider

import (
	"fmt"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

// service is one service over its replicas: the worst of them.
func (v *viewed) service(m spec.Member, replicas int) provider.ServiceStatus {
	s := provider.ServiceStatus{State: provider.StateRunning, Ready: true}
	for i := range replicas {
		r := v.replica(m, i)
		if i == 0 || worse(r.State, s.State) {
			s.State, s.Reason, s.Message = r.State, r.Reason, r.Message
		}
		if i == 0 {
			s.ProviderRef = r.ProviderRef
		}
		s.Ready = s.Ready && r.Ready
		s.Restarts += r.Restarts
		s.Replicas = append(s.Replicas, r)
	}
	return s
}

// replica is one container.
func (v *viewed) replica(s spec.Member, index int) provider.ReplicaStatus {
	r := provider.ReplicaStatus{Replica: index}
	g := v.group(index)
	m := memberOf(g, s.Name)
	if m == nil {
		v.missing(&r, s, g)
		return r
	}
	r.ProviderRef = m.ID
	r.Restarts = m.Restarts + v.d.rt.restarts(m.Name)
	if !m.Started.IsZero() {
		started := m.Started.UTC()
		r.StartedAt = &started
	}
	hold := v.hold()
	switch m.Status {
	case docker.StatusRunning:
		v.running(&r, s, m)
	case docker.StatusCreated:
		if hold != "" {
			r.State, r.Reason, r.Message = provider.StateStarting, provider.ReasonVolumeInUse, hold
			break
		}
		r.State, r.Reason = provider.StateStarting, provider.ReasonWaitingForDependency
	case docker.StatusPaused:
		r.State, r.Reason, r.Message = provider.StateFailed, provider.ReasonUnhealthy, "the container is paused"
	case docker.StatusExited, docker.StatusDead, docker.StatusRestarting, docker.StatusRemoving:
		code := m.Exit.Code
		r.ExitCode = &code
		v.ended(&r, s, m)
		if hold != "" && s.Role != spec.RoleInit {
			r.State, r.Reason, r.Message = provider.StateStarting, provider.ReasonVolumeInUse, hold
		}
	}
	if v.world.Desired.Stopped {
		v.stopped(&r, m)
	}
	return r
}

// group finds the group of an index that the status tells of: of the release
// that serves, or what takes traffic in its place during a rolling change.
func (v *viewed) group(index int) *application.Group {
	release := v.release()
	if release == nil {
		return nil
	}
	name := application.ReplicaContainerName(release.Service, identity(release), release.Nonce, index)
	var other *application.Group
	for i := range v.world.Groups {
		g := &v.world.Groups[i]
		switch {
		case g.Replica != index:
		case g.Name == name && g.SpecHash == release.SpecHash && (v.targets(g) || len(g.Members) > 0 && v.world.Active == nil):
			return g
		case v.targets(g):
			return g
		case g.Name == name && g.SpecHash == release.SpecHash:
			other = g
		}
	}
	return other
}

// identity is the identity of a release's image that names of containers hash.
func identity(r *store.Release) string {
	if r.Local {
		return application.NameImage(store.DesiredService{Image: r.Image, LocalImageID: r.ImageID})
	}
	return r.Resolved
}

func memberOf(g *application.Group, service string) *application.Member {
	if g == nil {
		return nil
	}
	for i := range g.Members {
		if g.Members[i].Member == service {
			return &g.Members[i]
		}
	}
	return nil
}

// hold is why what does not run waits for a volume, or "".
func (v *viewed) hold() string {
	if v.world.Desired.Stopped || hopeless(v.record) {
		return ""
	}
	return v.d.holds.why(v.record.ID)
}

// missing is a container that does not stand.
func (v *viewed) missing(r *provider.ReplicaStatus, s spec.Member, g *application.Group) {
	attempt := v.world.Attempt
	switch {
	case v.world.Desired.Stopped:
		r.State, r.Reason = provider.StateStopped, provider.ReasonStopped
	case s.Role == spec.RoleInit && g != nil && !g.Main().Started.IsZero():
		r.State, r.Ready = provider.StateStopped, true // it did its work before main ran
	case hopeless(v.record) && attempt != nil:
		r.State, r.Reason, r.Message = provider.StateFailed, reasonOf(application.Reason(attempt.Reason)), attempt.Message
	case attempt != nil && !attempt.State.Final() || v.world.Active == nil:
		r.State = provider.StateProvisioning
	default:
		r.State, r.Reason, r.Message = provider.StateStarting, provider.ReasonMissing, "its container is gone, and is being made again"
	}
}

// running is a container whose process runs.
func (v *viewed) running(r *provider.ReplicaStatus, s spec.Member, m *application.Member) {
	switch {
	case s.Role == spec.RoleInit:
		r.State, r.Reason = provider.StateStarting, provider.ReasonWaitingForReady
	case !m.Recheck && m.Live.Failures > 0:
		r.State, r.Reason, r.Message = provider.StateStarting, provider.ReasonUnhealthy, m.Live.Last
	case !m.Recheck:
		r.State, r.Ready = provider.StateRunning, true
		if text := v.unhealthy(m); text != "" {
			r.State, r.Ready, r.Reason, r.Message = provider.StateStarting, false, provider.ReasonUnhealthy, text
		}
	default:
		r.State, r.Reason, r.Message = provider.StateStarting, provider.ReasonWaitingForReady, m.Ready.Last
	}
}

// unhealthy is what the health check of a container that serves found once it
// has failed for long, or "".
func (v *viewed) unhealthy(m *application.Member) string {
	for i := range v.world.Groups {
		g := &v.world.Groups[i]
		if !v.targets(g) || memberOf(g, m.Member) == nil || memberOf(g, m.Member).ID != m.ID {
			continue
		}
		for _, s := range v.servicesOf(g) {
			if p := translate.Declared(s); s.Name == m.Member && p != nil {
				return v.d.watches.unhealthy(v.record.ID, m, p)
			}
		}
	}
	return ""
}

// ended is a container whose process ended, for good or until it is started
// again.
func (v *viewed) ended(r *provider.ReplicaStatus, s spec.Member, m *application.Member) {
	clean := m.Status == docker.StatusExited && m.Exit.Code == 0 && !m.Exit.OOMKilled && !m.Exit.FinishedAt.IsZero()
	if s.Role == spec.RoleInit && clean {
		r.State, r.Ready = provider.StateStopped, true
		return
	}
	r.Message = explainEnd(m)
	// It is started again, and may become well by waiting, until it keeps ending.
	r.State, r.Reason = provider.StateStarting, provider.ReasonExited
	loops := m.Deaths >= v.world.Timing.CrashLimit
	if loops {
		r.State, r.Reason = provider.StateFailed, provider.ReasonCrashLoop
	}
	switch {
	case s.Role == spec.RoleInit:
		r.State, r.Reason = provider.StateFailed, provider.ReasonInitFailed
	case m.Exit.OOMKilled:
		r.Reason = provider.ReasonOutOfMemory
	case v.world.Attempt != nil && !v.world.Attempt.State.Final() && m.Exit.FinishedAt.Before(v.world.AttemptAt):
		r.State, r.Reason, r.Message = provider.StateStarting, "", "" // of an earlier run; it is about to be started
	}
	if m.Live.Last != "" && !m.Exit.OOMKilled {
		r.State, r.Reason, r.Message = provider.StateStarting, provider.ReasonUnhealthy, "it is restarted, its liveness check failed: "+m.Live.Last
	}
}

// stopped is a container of an instance that shall not run.
func (v *viewed) stopped(r *provider.ReplicaStatus, m *application.Member) {
	switch m.Status {
	case docker.StatusRunning, docker.StatusPaused, docker.StatusRestarting:
		r.State, r.Ready, r.Reason, r.Message = provider.StateStopping, false, "", ""
	case docker.StatusCreated, docker.StatusExited, docker.StatusDead, docker.StatusRemoving:
		r.State, r.Ready, r.Reason, r.Message = provider.StateStopped, false, provider.ReasonStopped, ""
	}
}

// explainEnd words the end of a container, with its last lines.
func explainEnd(m *application.Member) string {
	var text string
	switch {
	case m.Exit.OOMKilled:
		text = fmt.Sprintf("it was killed at its memory limit, with exit code %d", m.Exit.Code)
	case m.Exit.Error != "":
		text = "it could not run: " + m.Exit.Error
	default:
		text = fmt.Sprintf("it exited with code %d%s", m.Exit.Code, m.Exit.Doubt())
		if ran := m.Exit.FinishedAt.Sub(m.Exit.StartedAt); ran > 0 && !m.Exit.StartedAt.IsZero() {
			text += fmt.Sprintf(", %s after its start", ran.Round(time.Millisecond))
		}
	}
	if len(m.LastLog) > 0 {
		text += "; its last lines:\n  " + strings.Join(m.LastLog, "\n  ")
	}
	return text
}

func runs(m *application.Member) bool { return m.Status == docker.StatusRunning }

// takes reports whether a group's main container can take traffic.
func takes(g *application.Group) bool {
	m := g.Main()
	return runs(m) && !m.Recheck
}
