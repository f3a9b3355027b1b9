package api

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/wire"
)

// checkLogTarget refuses logs of what does not exist. A service that was
// removed from its app has kept logs, and is known by its releases; so is a member
// that was removed from its service.
func (s *Server) checkLogTarget(ctx context.Context, in *logsInput) error {
	st, err := s.readApp(ctx, in.App)
	if err != nil {
		return err
	}
	if st.app == nil {
		return noSuchApp(in.App)
	}
	if in.Service != "" {
		if _, ok := st.services[in.Service]; !ok {
			if err := s.checkPastService(ctx, in.App, in.Service); err != nil {
				return err
			}
		}
	}
	if len(in.Members) == 0 {
		return nil
	}
	return s.checkMembers(ctx, st, in)
}

// checkPastService refuses a service that the app has never had.
func (s *Server) checkPastService(ctx context.Context, app, service string) error {
	old, err := s.deps.Store.ListReleases(ctx, spec.FullName(app, service), 1)
	if err != nil {
		return fmt.Errorf("list the releases of %s/%s: %w", app, service, err)
	}
	if len(old) == 0 || old[0].AppID != app {
		return noSuchService(app, service)
	}
	return nil
}

// checkMembers refuses a member that none of the services has or had.
func (s *Server) checkMembers(ctx context.Context, st *appState, in *logsInput) error {
	services, of := []string{in.Service}, in.App+"/"+in.Service
	if in.Service == "" {
		services, of = st.names(), fmt.Sprintf("no service of app %q", in.App)
	}
	known := map[string]bool{wire.MainMember: true}
	for _, service := range services {
		if err := s.addMembers(ctx, st, service, known); err != nil {
			return err
		}
	}
	for _, member := range in.Members {
		if known[member] || slices.Contains(services, member) {
			continue
		}
		what := fmt.Sprintf("%s has a member %q", of, member)
		if in.Service != "" {
			what = fmt.Sprintf("%s has no member %q", of, member)
		}
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(name string) bool { return name == wire.MainMember })
		return notFound(what, fmt.Sprintf("There is %s.", strings.Join(append([]string{wire.MainMember}, names...), ", ")))
	}
	return nil
}

// addMembers adds the inits and sidecars that a service has or, in a release
// still recorded, had.
func (s *Server) addMembers(ctx context.Context, st *appState, service string, known map[string]bool) error {
	releases, err := s.deps.Store.ListReleases(ctx, spec.FullName(st.name, service), maxReleases)
	if err != nil {
		return fmt.Errorf("list the releases of %s/%s: %w", st.name, service, err)
	}
	specs := []*spec.Service{}
	if svc, ok := st.services[service]; ok {
		specs = append(specs, &svc.desired.Spec)
	}
	for i := range releases {
		if releases[i].AppID == st.name {
			specs = append(specs, &releases[i].Spec)
		}
	}
	for _, sp := range specs {
		for _, m := range sp.Members() {
			if m.Role != spec.RoleMain {
				known[m.Name] = true
			}
		}
	}
	return nil
}
