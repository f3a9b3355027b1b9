package sqlite

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/internal/store"
)

// routePath is the path prefix that a route is claimed under: "/api/" and
// "/api" are one claim, and "" is "/".
func routePath(path string) string {
	return cmp.Or(strings.TrimRight(path, "/"), "/")
}

// releaseDomains gives up what a service claims, before the change's services
// claim anew: a domain may move between two services of one change.
func (t *tx) releaseDomains(service string) error {
	return t.do(`DELETE FROM service_domains WHERE service = ?`, service)
}

// claimDomains claims the routes of a service.
func (t *tx) claimDomains(d *store.DesiredService) error {
	path := routePath(d.Spec.Path)
	for _, host := range d.Spec.Domains {
		host = strings.ToLower(host)
		owner, ok, err := one(t.ctx, t, scanAs[string],
			`SELECT service FROM service_domains WHERE host = ? AND path = ?`, host, path)
		if err != nil {
			return err
		}
		if ok && owner != d.Name {
			return fmt.Errorf("%w: %s%s belongs to service %s and cannot go to %s as well",
				store.ErrDomainTaken, host, path, owner, d.Name)
		}
		if ok {
			continue
		}
		if err := t.do(`INSERT INTO service_domains (host, path, service) VALUES (?, ?, ?)`, host, path, d.Name); err != nil {
			return err
		}
	}
	return nil
}
