package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

// appState is what the store holds about one app, read for one request. The
// reads are not one transaction: a write that follows states the generations
// it was decided on.
type appState struct {
	name     string
	app      *store.App // nil: there is none
	services map[string]serviceState
	newest   *store.Attempt // nil: none yet, or forgotten
	// secrets are the newest versions of what the releases that serve name, by
	// key in the vault; read where a plan is made of a file.
	secrets map[string]int64
}

// serviceState is one desired service, by its short name.
type serviceState struct {
	desired store.DesiredService
	active  *store.ActiveRelease  // nil: nothing serves yet
	release *store.Release        // the active one
	last    *store.AttemptService // what became of the desired generation; nil: not known
}

// readApp reads an app and its services. An app that does not exist has a nil
// app and no services.
func (s *Server) readApp(ctx context.Context, name string) (*appState, error) {
	st := &appState{name: name, services: map[string]serviceState{}}
	app, err := s.deps.Store.GetApp(ctx, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return st, nil
	case err != nil:
		return nil, fmt.Errorf("read app %q: %w", name, err)
	}
	st.app = &app
	desired, err := s.deps.Store.ListDesiredServices(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("list the services of app %q: %w", name, err)
	}
	attempts := attemptCache{store: s.deps.Store, seen: map[int64]*store.Attempt{}}
	for _, d := range desired {
		svc := serviceState{desired: d}
		if svc.last, err = attempts.of(ctx, d.AttemptID, d.Name); err != nil {
			return nil, err
		}
		if err := s.readActive(ctx, &svc); err != nil {
			return nil, err
		}
		st.services[spec.ShortName(name, d.Name)] = svc
	}
	newest, err := s.deps.Store.ListAttempts(ctx, name, 1)
	if err != nil {
		return nil, fmt.Errorf("list the attempts of app %q: %w", name, err)
	}
	if len(newest) > 0 {
		st.newest = &newest[0]
	}
	return st, nil
}

// mustReadApp is readApp of an app that has to exist.
func (s *Server) mustReadApp(ctx context.Context, name string) (*appState, error) {
	st, err := s.readApp(ctx, name)
	if err == nil && st.app == nil {
		err = noSuchApp(name)
	}
	return st, err
}

// readActive fills in what serves now.
func (s *Server) readActive(ctx context.Context, svc *serviceState) error {
	active, err := s.deps.Store.GetActiveRelease(ctx, svc.desired.Name)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the active release of %s: %w", svc.desired.Name, err)
	}
	svc.active = &active
	release, err := s.deps.Store.GetRelease(ctx, active.ReleaseID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read release %s: %w", active.ReleaseID, err)
	}
	svc.release = &release
	return nil
}

// names are the short names of the services, sorted.
func (st *appState) names() []string { return slices.Sorted(maps.Keys(st.services)) }

// base are the generations as they are now, by full name.
func (st *appState) base() map[string]int64 {
	base := make(map[string]int64, len(st.services))
	for _, svc := range st.services {
		base[svc.desired.Name] = svc.desired.Generation
	}
	return base
}

// openAttempt is the newest attempt if it still goes on, else 0.
func (st *appState) openAttempt() int64 {
	if st.newest != nil && !st.newest.State.Final() {
		return st.newest.ID
	}
	return 0
}

// failed reports whether the last change of the service failed.
func (svc serviceState) failed() bool {
	return svc.last != nil && svc.last.State == store.AttemptFailed
}

// open reports whether the last change of the service still goes on.
func (svc serviceState) open() bool {
	return svc.last != nil && !svc.last.State.Final()
}

// rolledBack reports whether the release that a rollback chose serves, and nothing
// that brings new containers is under way. The next apply ends that.
func (svc serviceState) rolledBack() bool {
	return svc.desired.ReleaseID != "" && svc.active != nil && svc.active.ReleaseID == svc.desired.ReleaseID &&
		(!svc.open() || light(svc.last))
}

// light reports whether a part of an attempt needs no new containers.
func light(part *store.AttemptService) bool {
	return part.Action == string(wire.ActionScale) || part.Action == string(wire.ActionRoute)
}

// running is the service as its users have it now: the containers of the
// active release, reached by the active route. Nil when nothing serves.
func (svc serviceState) running() *spec.Service {
	if svc.active == nil {
		return nil
	}
	running := svc.desired.Spec
	if svc.release != nil {
		running = asWanted(svc.release.Spec)
	}
	running.Domains, running.Path = svc.active.Route.Hosts, svc.active.Route.Path
	return &running
}

// asWanted is the spec of a release as a file would ask for it: without the
// versions of secrets that the release runs with.
func asWanted(s spec.Service) spec.Service {
	return s.WithSecretVersions(func(spec.SecretRef) int64 { return 0 })
}

// attemptCache reads each attempt once.
type attemptCache struct {
	store Store
	seen  map[int64]*store.Attempt
}

// of is the part of an attempt that concerns a service; nil when the attempt
// is forgotten or does not concern it.
func (c attemptCache) of(ctx context.Context, id int64, service string) (*store.AttemptService, error) {
	if id == 0 {
		return nil, nil
	}
	a, ok := c.seen[id]
	if !ok {
		found, err := c.store.GetAttempt(ctx, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("read attempt %d: %w", id, err)
		}
		if err == nil {
			a = &found
		}
		c.seen[id] = a
	}
	if a == nil {
		return nil, nil
	}
	for i := range a.Services {
		if a.Services[i].Service == service {
			return &a.Services[i], nil
		}
	}
	return nil, nil
}

// ready is the condition that says whether the service serves; nil: none yet.
func ready(conditions []reconcile.Condition) *reconcile.Condition {
	for i := range conditions {
		if conditions[i].Type == reconcile.ConditionReady {
			return &conditions[i]
		}
	}
	return nil
}
