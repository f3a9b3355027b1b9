package node

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
)

// Rules are one backend's firewall.
type Rules struct {
	// Name tells the rules of one backend from those of another on the same host: up to
	// 32 small letters, digits and -.
	Name string
	// Pools are where the subnets of leases are from. No lease reaches an address in
	// one that is not of its own network, and nobody from outside does but by a
	// published port.
	Pools []netip.Prefix
	// Bridges begins the name of every bridge of a lease, and of no other interface:
	// up to 12 letters, digits and -. Empty goes by addresses alone.
	Bridges string
	// Allow are private prefixes that leases may reach all the same. What is
	// link-local, a metadata service, multicast or a lease's is not opened by it.
	Allow []netip.Prefix
	// Resolvers are asked for names, by UDP and TCP to port 53, wherever they are.
	Resolvers []netip.Addr
	// HostPorts are the TCP ports on which leases reach the host itself.
	HostPorts []uint16
}

// Bounds of rules.
const (
	maxPrefixes = 256
	maxBridges  = 12
)

var (
	nameForm   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)
	bridgeForm = regexp.MustCompile(`^[A-Za-z0-9-]{3,12}$`)
)

// TableName is what the table of rules is called on the host.
func TableName(name string) string { return "berth-" + name }

// Validate is nil or an ErrRules.
func (r Rules) Validate() error {
	bad := func(form string, args ...any) error {
		return fmt.Errorf("%w: "+form, append([]any{ErrRules}, args...)...)
	}
	switch {
	case !nameForm.MatchString(r.Name):
		return bad("the name %q is not 1 to 32 small letters, digits and -", r.Name)
	case r.Bridges != "" && !bridgeForm.MatchString(r.Bridges):
		return bad("%q is not 3 to %d letters, digits and - that bridges begin with", r.Bridges, maxBridges)
	case len(r.Pools) == 0:
		return bad("there is no pool")
	case len(r.Pools)+len(r.Allow)+len(r.Resolvers)+len(r.HostPorts) > maxPrefixes:
		return bad("there are more than %d prefixes, addresses and ports", maxPrefixes)
	case slices.Contains(r.HostPorts, 0):
		return bad("0 is no port")
	}
	for _, p := range r.Pools {
		if !sound(p) || p.Bits() == 0 {
			return bad("%s is not a pool", p)
		}
	}
	for _, p := range r.Allow {
		if !sound(p) {
			return bad("%s is not a prefix that can be allowed", p)
		}
	}
	for _, a := range r.Resolvers {
		if !a.IsValid() || a.Is4In6() || a.Zone() != "" {
			return bad("%s is not the address of a resolver", a)
		}
	}
	return nil
}

func sound(p netip.Prefix) bool { return p.IsValid() && !p.Addr().Is4In6() && p == p.Masked() }
