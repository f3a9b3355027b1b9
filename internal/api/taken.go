package api

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/internal/wire"
)

// checkTaken refuses a plan that takes a name or a route of another app. The
// store refuses it too, in the transaction; this one says so in a dry run, and
// everything at once.
func (s *Server) checkTaken(ctx context.Context, p planned) error {
	all, err := s.deps.Store.ListDesiredServices(ctx, "")
	if err != nil {
		return fmt.Errorf("list the services of all apps: %w", err)
	}
	names, routes := map[string]string{}, map[string]string{} // -> app that has it
	for _, d := range all {
		if d.AppID == p.plan.App {
			continue
		}
		names[d.Name] = d.AppID
		for _, host := range d.Spec.Domains {
			routes[host+routePath(d.Spec.Path)] = d.AppID
		}
	}
	var takenNames, takenRoutes []wire.ProblemError
	for _, d := range p.change.Put {
		if app, taken := names[d.Name]; taken {
			takenNames = append(takenNames, wire.ProblemError{
				Location: "services." + d.Spec.Name, Message: fmt.Sprintf("its full name %s belongs to app %s", d.Name, app),
			})
		}
		for _, host := range d.Spec.Domains {
			if app, taken := routes[host+routePath(d.Spec.Path)]; taken {
				takenRoutes = append(takenRoutes, wire.ProblemError{
					Location: "services." + d.Spec.Name, Message: fmt.Sprintf("%s%s leads to app %s", host, routePath(d.Spec.Path), app),
				})
			}
		}
	}
	if len(takenNames) > 0 {
		problem := nameTaken(fmt.Sprintf("app %s wants names that other apps have", p.plan.App))
		problem.Errors = takenNames
		return problem
	}
	if len(takenRoutes) > 0 {
		problem := domainTaken(fmt.Sprintf("app %s wants domains that other apps have", p.plan.App))
		problem.Errors = takenRoutes
		return problem
	}
	return nil
}

// routePath is a path prefix in the one form that routes are compared in.
func routePath(path string) string { return cmp.Or(strings.TrimRight(path, "/"), "/") }
