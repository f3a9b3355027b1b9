package sqlite

import (
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/store"
)

// divideRoutes sees to it that no host and path leads to two services. A
// service whose change failed goes on serving what its release was reached by,
// also what its file has given up and another's has claimed since: that goes
// over to the claimant when its row is written, and not back.
func (t *tx) divideRoutes(a *store.ActiveRelease) error {
	var keeps []string
	for _, host := range a.Route.Hosts {
		claimant, claimed, err := one(t.ctx, t, scanAs[string],
			`SELECT service FROM service_domains WHERE host = ? AND path = ?`, strings.ToLower(host), routePath(a.Route.Path))
		if err != nil {
			return err
		}
		if !claimed {
			keeps = append(keeps, host)
			continue
		}
		others, err := t.reachedBy(host, a)
		if err != nil {
			return err
		}
		if claimant != a.Service {
			if !slices.ContainsFunc(others, func(o store.ActiveRelease) bool { return o.Service == claimant }) {
				keeps = append(keeps, host)
			}
			continue
		}
		keeps = append(keeps, host)
		for _, o := range others {
			o.Route.Hosts = slices.DeleteFunc(o.Route.Hosts, func(h string) bool { return h == host })
			if err := t.putActive(o); err != nil {
				return err
			}
		}
	}
	a.Route.Hosts = keeps
	return nil
}

// reachedBy are the rows of other services that a host leads to at a's path.
func (t *tx) reachedBy(host string, a *store.ActiveRelease) ([]store.ActiveRelease, error) {
	quoted, err := toJSON(host)
	if err != nil {
		return nil, err
	}
	all, err := list(t.ctx, t, scanActive,
		`SELECT `+activeColumns+` FROM active_releases WHERE service <> ? AND instr(route, ?) > 0`, a.Service, quoted)
	return slices.DeleteFunc(all, func(o store.ActiveRelease) bool {
		return routePath(o.Route.Path) != routePath(a.Route.Path) || !slices.Contains(o.Route.Hosts, host)
	}), err
}
