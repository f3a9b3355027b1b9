package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

type (
	appInput struct {
		App string `path:"app" maxLength:"128" doc:"Name of the app."`
	}
	serviceInput struct {
		App     string `path:"app" maxLength:"128" doc:"Name of the app."`
		Service string `path:"service" maxLength:"128" doc:"Short name of the service."`
	}
	deleteInput struct {
		App         string `path:"app" maxLength:"128" doc:"Name of the app."`
		AllowRemove bool   `query:"allow_remove" doc:"Accept that the app's services are removed."`
		DryRun      bool   `query:"dry_run" doc:"Answer with the plan and change nothing."`
	}
	appListOutput  struct{ Body wire.AppList }
	appOutput      struct{ Body wire.AppStatus }
	releasesOutput struct{ Body wire.ReleaseList }
)

func (s *Server) registerApps(r *registrar) {
	register(r, RuleAdmin, op(http.MethodGet, "/v1/apps", "list-apps", "All apps"), s.listApps)
	register(r, RuleAdmin, op(http.MethodGet, "/v1/apps/{app}", "get-app", "Everything known about an app"), s.getApp)
	register(r, RuleAdmin, op(http.MethodGet, "/v1/apps/{app}/services/{service}/releases", "list-releases", "The releases of a service, newest first"), s.listReleases)
	del := op(http.MethodDelete, "/v1/apps/{app}", "delete-app", "Remove an app; its volumes stay")
	register(r, RuleAdmin, del, func(ctx context.Context, in *deleteInput) (*changeOutput, error) {
		return s.answerChange(ctx, func() (wire.ChangeResult, error) { return s.deleteApp(ctx, in) })
	})
}

func (s *Server) listApps(ctx context.Context, _ *struct{}) (*appListOutput, error) {
	apps, err := s.deps.Store.ListApps(ctx)
	if err != nil {
		return nil, s.asProblem(ctx, fmt.Errorf("list apps: %w", err))
	}
	out := &appListOutput{wire.AppList{Apps: []wire.AppSummary{}}}
	for _, app := range apps {
		status, err := s.appStatus(ctx, app.Name)
		if err != nil {
			return nil, s.asProblem(ctx, err)
		}
		if status == nil {
			continue // removed since it was listed
		}
		line := wire.AppSummary{Name: app.Name, State: status.State, Services: len(status.Services), CreatedAt: app.CreatedAt}
		for _, svc := range status.Services {
			if serves(svc) {
				line.Ready++
			}
			line.URLs = append(line.URLs, svc.URLs...)
		}
		out.Body.Apps = append(out.Body.Apps, line)
	}
	return out, nil
}

func (s *Server) getApp(ctx context.Context, in *appInput) (*appOutput, error) {
	status, err := s.appStatus(ctx, in.App)
	if err == nil && status == nil {
		err = noSuchApp(in.App)
	}
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return &appOutput{*status}, nil
}

func (s *Server) listReleases(ctx context.Context, in *serviceInput) (*releasesOutput, error) {
	out, err := s.releases(ctx, in.App, in.Service)
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return &releasesOutput{out}, nil
}

func (s *Server) releases(ctx context.Context, app, service string) (wire.ReleaseList, error) {
	out := wire.ReleaseList{Releases: []wire.Release{}}
	st, err := s.readApp(ctx, app)
	if err != nil {
		return out, err
	}
	if st.app == nil {
		return out, noSuchApp(app)
	}
	svc, ok := st.services[service]
	if !ok {
		return out, noSuchService(app, service)
	}
	releases, err := s.deps.Store.ListReleases(ctx, svc.desired.Name, maxReleases)
	if err != nil {
		return out, fmt.Errorf("list the releases of %s: %w", svc.desired.Name, err)
	}
	active := ""
	if svc.active != nil {
		active = svc.active.ReleaseID
	}
	for _, r := range releases {
		out.Releases = append(out.Releases, wireRelease(r, active))
	}
	return out, nil
}

func (s *Server) deleteApp(ctx context.Context, in *deleteInput) (wire.ChangeResult, error) {
	st, err := s.readApp(ctx, in.App)
	if err != nil {
		return wire.ChangeResult{}, err
	}
	if st.app == nil {
		return wire.ChangeResult{}, noSuchApp(in.App)
	}
	return s.carryOut(ctx, s.planDelete(st), consent{dryRun: in.DryRun, remove: in.AllowRemove, interrupt: true})
}

// appStatus is everything about an app; nil when there is none.
func (s *Server) appStatus(ctx context.Context, name string) (*wire.AppStatus, error) {
	st, err := s.readApp(ctx, name)
	if err != nil || st.app == nil {
		return nil, err
	}
	out := &wire.AppStatus{Name: name, CreatedAt: st.app.CreatedAt, State: wire.StateReady, Services: []wire.ServiceStatus{}}
	for _, short := range st.names() {
		svc, err := s.serviceStatus(ctx, short, st.services[short])
		if err != nil {
			return nil, err
		}
		out.Services = append(out.Services, svc)
	}
	out.State = stateOfAll(out.Services)
	if st.newest != nil {
		a := wireAttempt(*st.newest)
		out.LastAttempt = &a
	}
	tombstones, err := s.deps.Store.ListPendingTeardowns(ctx)
	if err != nil {
		return nil, fmt.Errorf("list tombstones: %w", err)
	}
	for _, t := range tombstones {
		if t.AppID == name {
			out.Tombstones = append(out.Tombstones, wireTombstone(t))
		}
	}
	if st.app.Deleting {
		out.State = wire.StateDeleting
	}
	return out, nil
}

func (s *Server) serviceStatus(ctx context.Context, short string, svc serviceState) (wire.ServiceStatus, error) {
	d := &svc.desired
	conditions, err := s.deps.Store.GetConditions(ctx, s.deps.ControllerName(d.Name))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return wire.ServiceStatus{}, fmt.Errorf("read the conditions of %s: %w", d.Name, err)
	}
	out := wire.ServiceStatus{
		Service: short, Name: d.Name, Image: d.Image, Replicas: d.Replicas, Strategy: string(d.Spec.Strategy), Completes: d.Spec.Completes(),
		Port: d.Spec.Port, URLs: urls(&d.Spec, s.deps.Listeners()), Generation: d.Generation,
		Pinned: store.VersionOf(d.ReleaseID), Active: wireActive(svc.active, svc.release),
		Conditions: wireConditions(conditions), State: summary(svc, ready(conditions)),
	}
	for _, v := range d.Spec.Volumes {
		if v.Name != "" {
			out.Volumes = append(out.Volumes, v.Name)
		}
	}
	if svc.last != nil {
		last := wireAttemptService(d.AppID, *svc.last)
		out.LastAttempt, out.AttemptID = &last, svc.last.AttemptID
	}
	return out, nil
}

// summary sums a service up.
func summary(svc serviceState, ready *reconcile.Condition) wire.AppState {
	isReady := ready != nil && ready.Status == reconcile.True
	switch {
	case svc.last != nil && !svc.last.State.Final():
		return wire.StateDeploying
	case isReady && !svc.failed():
		return wire.StateReady
	case isReady, svc.active != nil && len(svc.active.Targets) > 0:
		return wire.StateDegraded
	}
	return wire.StateFailed
}

// serves reports whether the service answers, be it with an older release.
func serves(svc wire.ServiceStatus) bool {
	for _, c := range svc.Conditions {
		if c.Type == reconcile.ConditionReady {
			return c.Status == string(reconcile.True)
		}
	}
	return false
}

// stateOfAll is the worst state of services, but not failed while one of them
// serves. A job serves nobody, however it ended.
func stateOfAll(services []wire.ServiceStatus) wire.AppState {
	state, some := wire.StateReady, false
	for _, svc := range services {
		state = worse(state, svc.State)
		some = some || !svc.Completes && (serves(svc) || svc.Active != nil && len(svc.Active.Targets) > 0)
	}
	if state == wire.StateFailed && some {
		return wire.StateDegraded
	}
	return state
}

// worse is the worse of two states.
func worse(a, b wire.AppState) wire.AppState {
	rank := map[wire.AppState]int{wire.StateDeploying: 1, wire.StateDegraded: 2, wire.StateFailed: 3}
	if rank[b] > rank[a] {
		return b
	}
	return a
}
