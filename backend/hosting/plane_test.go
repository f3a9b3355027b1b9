package hosting_test

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/berth-cloud/berth/backend/hosting"
)

const wildcard = "leases.example.net"

// plane is a data plane, with the DNS that its domains are in. It outlives processes.
type plane struct {
	mu      sync.Mutex
	down    bool
	others  map[string]bool  // hosts that somebody else has
	dns     map[string]error // what the gate says; nil for what is not here
	asked   map[string]int
	table   map[string]hosting.Route // by host
	refused map[string]string        // host -> route
	told    int                      // times that the routes were said to be others
	pushes  int
	excused bool // it was down, or is not looked after: a lease may go without it
}

func newPlane() *plane {
	return &plane{others: map[string]bool{}, dns: map[string]error{}, asked: map[string]int{}, table: map[string]hosting.Route{}, refused: map[string]string{}, excused: true}
}

// ingress is what a process has of it.
func (p *plane) ingress(machine string) *hosting.Ingress {
	return &hosting.Ingress{Wildcard: wildcard, Gate: p, Router: p, Machine: machine}
}

func (p *plane) Check(ctx context.Context, domain string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[domain]++
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.dns[domain]
}

func (p *plane) Changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told++
}

func (p *plane) Host(host, route string) hosting.Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.table[host].Name == route:
		return hosting.Served
	case p.refused[host] == route && !p.down:
		return hosting.Refused
	}
	return hosting.Unanswered
}

func (p *plane) Left(lease string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return false
	}
	for _, r := range p.table {
		if r.Lease == lease {
			return false
		}
	}
	return true
}

// sync is a push of all routes. It returns what is wrong with them.
func (p *plane) sync(routes []hosting.Route) (wrong []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	hosts, ids, names := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range routes {
		if hosts[r.Host] || r.Instead != "" && hosts[r.Instead] {
			wrong = append(wrong, "two routes for "+r.Host)
		}
		if names[r.Name] || !strings.HasPrefix(r.Name, hosting.RoutePrefix(r.Lease)) {
			wrong = append(wrong, "a route is called "+r.Name)
		}
		hosts[r.Host], hosts[r.Instead], names[r.Name] = true, r.Instead != "", true
		for _, t := range r.Targets {
			if ids[t.ID] || !t.Address.IsValid() {
				wrong = append(wrong, "two targets are "+t.ID)
			}
			ids[t.ID] = true
		}
	}
	if p.down {
		return wrong
	}
	p.pushes++
	p.table, p.refused = map[string]hosting.Route{}, map[string]string{}
	for _, r := range routes {
		host := r.Host
		if p.others[host] {
			p.refused[host] = r.Name
			host = r.Instead
		}
		if host == "" || p.others[host] {
			continue
		}
		if have, taken := p.table[host]; taken {
			wrong = append(wrong, fmt.Sprintf("%s is of %s and %s", host, have.Name, r.Name))
		}
		p.table[host] = r
	}
	return wrong
}

func (p *plane) routes() map[string]hosting.Route {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.table)
}

// leadsTo reports whether requests are sent to an address.
func (p *plane) leadsTo(at netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.table {
		if slices.ContainsFunc(r.Targets, func(t hosting.Target) bool { return t.Address.Addr() == at }) {
			return !p.excused && !p.down
		}
	}
	return false
}

func (p *plane) set(f func(*plane)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}
