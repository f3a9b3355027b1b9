package api

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

func wireAttempt(a store.Attempt) wire.Attempt {
	out := wire.Attempt{
		ID: a.ID, App: a.AppID, Kind: string(a.Kind), State: wire.AttemptState(a.State),
		CreatedAt: a.CreatedAt, FinishedAt: a.FinishedAt, Services: []wire.AttemptService{},
	}
	for _, s := range a.Services {
		out.Services = append(out.Services, wireAttemptService(a.AppID, s))
	}
	return out
}

func wireAttemptService(app string, s store.AttemptService) wire.AttemptService {
	return wire.AttemptService{
		Service: spec.ShortName(app, s.Service), Name: s.Service, Action: wire.Action(s.Action),
		State: wire.AttemptState(s.State), Reason: s.Reason, Message: s.Message,
		Release: store.VersionOf(s.ReleaseID), UpdatedAt: s.UpdatedAt, DeadlineAt: s.DeadlineAt,
	}
}

func wireTrace(app string, e store.TraceEvent) wire.TraceEvent {
	return wire.TraceEvent{
		ID: e.ID, Attempt: e.AttemptID, Service: spec.ShortName(app, e.Service), Time: e.Time,
		Phase: e.Phase, Status: e.Status, Message: e.Message, Container: e.Container,
	}
}

func wireConditions(conditions []reconcile.Condition) []wire.Condition {
	out := []wire.Condition{}
	for _, c := range conditions {
		out = append(out, wire.Condition{
			Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message,
			LastTransitionTime: c.LastTransitionTime,
		})
	}
	return out
}

func wireRelease(r store.Release, active string) wire.Release {
	return wire.Release{
		ID: r.ID, Version: version(r.Version), Image: r.Image, Resolved: r.Resolved, Local: r.Local,
		Active: r.ID == active, Attempt: r.AttemptID, CreatedAt: r.CreatedAt,
	}
}

func wireActive(a *store.ActiveRelease, r *store.Release) *wire.ActiveRelease {
	if a == nil {
		return nil
	}
	out := &wire.ActiveRelease{
		Release: store.VersionOf(a.ReleaseID), ID: a.ReleaseID, Since: a.Since, Targets: []wire.Target{},
		Previous: store.VersionOf(a.PreviousID), HeldUntil: a.HeldUntil,
	}
	if r != nil {
		out.Image, out.Resolved = r.Image, r.Resolved
	}
	for _, t := range a.Targets {
		target := wire.Target{Container: t.Container, Replica: t.Replica}
		if t.Address.IsValid() {
			target.Address = t.Address.String()
		}
		out.Targets = append(out.Targets, target)
	}
	return out
}

func wireTombstone(t store.PendingTeardown) wire.Tombstone {
	return wire.Tombstone{
		Service: spec.ShortName(t.AppID, t.Name), Name: t.Name, CreatedAt: t.CreatedAt,
		Failures: t.Failures, LastCause: t.LastCause,
	}
}

func version(n int64) string { return fmt.Sprintf("v%d", n) }

// urls are where people reach a service: each of its domains at the data
// plane's first plain listener, or as plain http without one.
func urls(svc *spec.Service, listeners []string) []string {
	if svc.Port == 0 {
		return nil
	}
	scheme, port := "http", ""
	if len(listeners) > 0 {
		if u, err := url.Parse(listeners[0]); err == nil {
			scheme, port = u.Scheme, u.Port()
		}
	}
	if (scheme == "http" && port == "80") || (scheme == "https" && port == "443") {
		port = ""
	}
	var out []string
	for _, host := range svc.Domains {
		if port != "" {
			host = net.JoinHostPort(host, port)
		}
		u := url.URL{Scheme: scheme, Host: host, Path: strings.TrimSuffix(svc.Path, "/")}
		out = append(out, u.String())
	}
	return out
}
