package hosting

import (
	"cmp"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/fqdn"
)

const (
	// holdTime is for instances that are replaced, or start again by themselves.
	holdTime = 10 * time.Second
	// drainTime is for requests that an instance which is replaced still answers.
	drainTime = 10 * time.Second
)

// Routes are those of all leases, sorted by name. No two have one host: of those that
// want it, the oldest lease has it.
func (h *Hosting) Routes() []Route {
	if h.cfg.Ingress == nil {
		return nil
	}
	all, _ := h.rows.page("", 0)
	return h.cfg.Ingress.routes(all)
}

// routes depends on nothing but the rows.
func (g *Ingress) routes(all []*row) []Route {
	byAge := slices.Clone(all)
	slices.SortFunc(byAge, func(a, b *row) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Lease, b.Lease))
	})
	claimed, taken := claimsOf(all), map[string]bool{}
	out := []Route{}
	for _, r := range byAge {
		for _, one := range g.routesOf(r, claimed.owns) {
			// A hash of seven digits is not one of a kind.
			if taken[one.Host] {
				continue
			}
			taken[one.Host] = true
			if one.Instead != "" {
				taken[one.Instead] = true
			}
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b Route) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// routesOf are those of one lease. owns says which domains it may have.
func (g *Ingress) routesOf(r *row, owns func(domain, lease, service string) bool) []Route {
	if r == nil || r.Gone || r.Status == backend.ProvisionStatusDeprovisioning || r.active() == nil {
		return nil
	}
	var out []Route
	for _, item := range r.Items {
		if item.Quantity == 0 || len(r.routePorts(item.ServiceName)) == 0 {
			continue
		}
		if g.Wildcard != "" {
			for i := range item.Quantity {
				name := routeName(r.Lease, item.ServiceName, i)
				out = append(out, Route{
					Name: name, Lease: r.Lease, Host: fqdn.Host(g.Wildcard, r.Lease, item.ServiceName, i, item.Quantity),
					Targets: g.targets(r, item.ServiceName, name, i), Hold: r.hold(), Drain: drainTime,
				})
			}
		}
		if one, ok := g.domainRoute(r, item, owns); ok {
			out = append(out, one)
		}
	}
	return out
}

// every is the replica of a route that leads to all.
const every = -1

func routeName(lease, service string, replica int) string {
	if replica == every {
		return RoutePrefix(lease) + service
	}
	return RoutePrefix(lease) + service + "/" + strconv.Itoa(replica)
}

// domainRoute is that of the custom domain of an item.
func (g *Ingress) domainRoute(r *row, item backend.LeaseItem, owns func(domain, lease, service string) bool) (Route, bool) {
	service := item.ServiceName
	may := func(domain string) bool {
		// The wildcard domain may be another one since the domain was taken.
		normal, err := fqdn.Custom(domain, g.Wildcard)
		return err == nil && normal == domain && owns(domain, r.Lease, service)
	}
	name := routeName(r.Lease, service, every)
	one := Route{Name: name, Lease: r.Lease, Domain: true, Hold: r.hold(), Drain: drainTime}
	if may(item.CustomDomain) {
		one.Host = item.CustomDomain
	}
	if w := r.Names.Wishes[service]; w.State == wishRouting && may(w.Domain) {
		one.Host, one.Instead = w.Domain, one.Host
	}
	if one.Host == "" {
		return one, false
	}
	one.Targets = g.targets(r, service, name, every)
	return one, true
}

// hold is how long requests wait for a lease.
func (r *row) hold() time.Duration {
	switch r.Status {
	case backend.ProvisionStatusReady, backend.ProvisionStatusRestarting, backend.ProvisionStatusUpdating:
		return holdTime
	}
	return 0 // nobody is about to bring it back
}

// targets are the instances of a service, or one of them, for a route.
func (g *Ingress) targets(r *row, service, route string, replica int) []Target {
	out := []Target{}
	if r.Names.Machine != g.Machine {
		return out
	}
	for _, s := range r.Names.Seen[service] {
		if replica != every && s.Replica != replica {
			continue
		}
		if at, err := netip.ParseAddrPort(s.Address); err == nil {
			out = append(out, Target{ID: route + "@" + s.Address, Address: at})
		}
	}
	return out
}

// routePorts are the ports that a service's names may lead to: of the release that
// serves, and of the one that is to come.
func (r *row) routePorts(service string) []int {
	var out []int
	for _, rel := range []*release{r.release(r.manifestVersion()), r.active()} {
		if rel != nil && rel.Ports[service] != 0 && !slices.Contains(out, rel.Ports[service]) {
			out = append(out, rel.Ports[service])
		}
	}
	return out
}

// tellRouter says that the routes are others, if those of a row are.
func (h *Hosting) tellRouter(before, after *row) {
	g := h.cfg.Ingress
	all := func(string, string, string) bool { return true }
	if !reflect.DeepEqual(g.routesOf(before, all), g.routesOf(after, all)) {
		g.Router.Changed()
	}
}
