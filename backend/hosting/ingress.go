package hosting

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Ingress is what a Hosting needs to have its leases reached by name.
type Ingress struct {
	// Wildcard is the domain below which every instance has a name of its own, in the
	// form of fqdn.Wildcard. "" gives them none.
	Wildcard string
	// Gate is asked for each domain that a tenant newly wants.
	Gate Gate
	// Router takes the routes to where requests come in.
	Router Router
	// Machine tells one start of the machine from another: addresses that were seen
	// before are not used until they are seen again.
	Machine string
}

func (g *Ingress) check() error {
	if g != nil && (g.Gate == nil || g.Router == nil) {
		return fmt.Errorf("%w: names of leases need a gate and a router", ErrConfig)
	}
	return nil
}

// Gate lets domains through; package resolvable has one.
type Gate interface {
	// Check is nil for a domain that may be taken. It is bounded by itself and by ctx.
	Check(ctx context.Context, domain string) error
}

// Router takes Hosting.Routes to the data plane. Its methods do not wait, and many may
// call them at once, also from within Hosting: they call nothing of it.
type Router interface {
	// Changed is told that the routes are others.
	Changed()
	// Host says what the data plane made of a host for a route.
	Host(host, route string) Answer
	// Left reports that the data plane sends nothing to a lease any more, and that
	// nothing is under way to it. What is not known is false.
	Left(lease string) bool
}

// Answer is what the data plane made of a host.
type Answer int

// The answers.
const (
	Unanswered Answer = iota // it was not reached since it was asked for that
	Served
	Refused // somebody else has the host
)

// Route has requests for a host sent to some instances of a service.
type Route struct {
	// Name is unique, and begins with that of the lease: see RoutePrefix.
	Name  string
	Lease string
	Host  string
	// Domain says that it is a custom domain's.
	Domain bool
	// Instead is the host that the route keeps where Host is refused; "" is none.
	Instead string
	// Targets is empty while nothing of it is ready.
	Targets []Target
	// Hold is how long a request waits for a target; 0 is not at all.
	Hold time.Duration
	// Drain is how long what is under way to a target that left may go on.
	Drain time.Duration
}

// Target is one instance.
type Target struct {
	// ID is unique among all routes, and another one with each address.
	ID      string
	Address netip.AddrPort
}

// RoutePrefix is what the names of a lease's routes and targets begin with.
func RoutePrefix(lease string) string { return routePrefix + lease + "/" }

const routePrefix = "lease/"

// LeaseOf is the lease of a route or target, by its name.
func LeaseOf(name string) (lease string, ok bool) {
	rest, ok := strings.CutPrefix(name, routePrefix)
	lease, _, more := strings.Cut(rest, "/")
	return lease, ok && more
}
