package routes

import (
	"context"
	"errors"
	"time"

	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/internal/reconcile/ingress"
)

// take notes a table that is in use now, and wakes the leases for which it decides
// something: those with a domain that is new, and those that are in it no more.
func (p *Pusher) take(t *table.Table, routes []hosting.Route, facts ingress.Facts) {
	now := &inUse{version: t.Version, hosts: make(map[string]string, len(t.Routes)), leases: map[string]bool{}}
	for i := range t.Routes {
		r := &t.Routes[i]
		now.hosts[r.Hosts[0]] = r.Service
		if lease, ok := hosting.LeaseOf(r.Service); ok {
			now.leases[lease] = true
		}
	}
	p.mu.Lock()
	before := p.inUse
	p.inUse, p.pushed = now, facts
	p.mu.Unlock()
	if before == nil {
		before = &inUse{}
	}
	woken := map[string]bool{}
	for i := range routes {
		r := &routes[i]
		if r.Domain && now.hosts[r.Host] == r.Name && before.hosts[r.Host] != r.Name {
			woken[r.Lease] = true
		}
	}
	for lease := range before.leases {
		if !now.leases[lease] {
			woken[lease] = true
		}
	}
	p.wake(woken)
}

func (p *Pusher) wake(leases map[string]bool) {
	for lease := range leases {
		p.cfg.Wake(lease)
	}
}

// refuse notes the hosts of a table that another owner has, and wakes their leases. It
// reports whether there are any that were not known: the table is not worth another try
// else.
func (p *Pusher) refuse(ctx context.Context, err error, routes []hosting.Route) bool {
	named := map[string]bool{}
	var claimed *table.ClaimedError
	if errors.As(err, &claimed) {
		for _, c := range claimed.Claims {
			named[c.Host] = true
		}
	}
	woken := map[string]bool{}
	p.mu.Lock()
	for i := range routes {
		r := &routes[i]
		for _, host := range []string{r.Host, r.Instead} {
			if host == "" || p.refused[host].route == r.Name || !p.blamed(named, host, r) {
				continue
			}
			p.refused[host] = refusal{r.Name, p.cfg.Now().Add(refusedFor)}
			woken[r.Lease] = true
			p.cfg.Logger.WarnContext(ctx, "a host is left out of the routes: another owner has it", "host", host, "lease", r.Lease)
		}
	}
	p.mu.Unlock()
	p.wake(woken)
	return len(woken) > 0
}

// blamed reports whether a host may be why a table was refused. A data plane of an
// older build does not say which: it is one of the domains that it did not have yet.
func (p *Pusher) blamed(named map[string]bool, host string, r *hosting.Route) bool {
	if len(named) > 0 {
		return named[host]
	}
	return r.Domain && p.inUse != nil && p.inUse.hosts[host] != r.Name
}

func (p *Pusher) isRefused(host, route string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused[host].route == route
}

// forgive forgets refusals of hosts that nobody wants any more, and those that are to be
// tried again.
func (p *Pusher) forgive(routes []hosting.Route) {
	wanted := make(map[string]string, len(routes))
	for i := range routes {
		wanted[routes[i].Host] = routes[i].Name
		if routes[i].Instead != "" {
			wanted[routes[i].Instead] = routes[i].Name
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.cfg.Now()
	for host, r := range p.refused {
		if wanted[host] != r.route || !now.Before(r.until) {
			delete(p.refused, host)
		}
	}
}

// tryAgain is when the first refusal is to be tried again; 0 is none.
func (p *Pusher) tryAgain() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first time.Duration
	for _, r := range p.refused {
		if wait := max(r.until.Sub(p.cfg.Now()), time.Millisecond); first == 0 || wait < first {
			first = wait
		}
	}
	return first
}
