package node

import (
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// priority is before the filters of engines and of people.
const priority = -20

// layout is a table as it should be.
type layout struct {
	table  string
	sets   []set
	chains []chain
}

type set struct {
	name     string
	key      nftables.SetDatatype
	interval bool
	elements []nftables.SetElement
}

type chain struct {
	name  string
	hook  *nftables.ChainHook // nil is none
	rules []rule
}

// rule is known by its name, which is its comment on the host.
type rule struct {
	name  string
	exprs []expr.Any
}

// Names of chains, in the order in which they are made: those that others go to first.
const (
	chainRefuse    = "refuse"
	chainToHost    = "lease-to-host"
	chainFromLease = "from-lease"
	chainToLease   = "to-lease"
	chainInput     = "input"
	chainForward   = "forward"
)

// Names of sets; those of addresses have one for each family, with the family behind.
const (
	setPool      = "pool"
	setNever     = "never"
	setAllowed   = "allowed"
	setPrivate   = "private"
	setMany      = "many"
	setResolvers = "resolvers"
	setHostPorts = "host-ports"
	setNames     = "name-protocols"
	setNeighbour = "neighbour-messages"
)

func layoutOf(r Rules) layout {
	resolvers := make([]netip.Prefix, len(r.Resolvers))
	for i, a := range r.Resolvers {
		resolvers[i] = netip.PrefixFrom(a, a.BitLen())
	}
	l := layout{table: TableName(r.Name)}
	for _, s := range []struct {
		name string
		of   []netip.Prefix
	}{
		{setPool, r.Pools}, {setNever, never()}, {setAllowed, r.Allow}, {setPrivate, private()}, {setMany, many()}, {setResolvers, resolvers},
	} {
		l.sets = append(l.sets, addresses(s.name, s.of, false), addresses(s.name, s.of, true))
	}
	l.sets = append(l.sets,
		ports(setHostPorts, r.HostPorts),
		bytesOf(setNames, nftables.TypeInetProto, unix.IPPROTO_TCP, unix.IPPROTO_UDP),
		bytesOf(setNeighbour, nftables.TypeICMP6Type, neighbourSolicitation, neighbourAdvertisement),
	)
	l.chains = []chain{
		{name: chainRefuse, rules: refuseRules()},
		{name: chainToHost, rules: toHostRules()},
		{name: chainFromLease, rules: fromLeaseRules(r)},
		{name: chainToLease, rules: toLeaseRules()},
		{name: chainInput, hook: nftables.ChainHookInput, rules: inputRules(r)},
		{name: chainForward, hook: nftables.ChainHookForward, rules: forwardRules(r)},
	}
	return l
}

// inputRules find what comes from leases for the host.
func inputRules(r Rules) []rule {
	out := []rule{{"the host to itself", join(interfaceIs(expr.MetaKeyIIFNAME, "lo"), accept)}}
	return append(out, fromLeases(r, chainToHost)...)
}

// forwardRules find what comes from leases, and what goes to them.
func forwardRules(r Rules) []rule {
	out := fromLeases(r, chainFromLease)
	if r.Bridges != "" {
		out = append(out, rule{"to a bridge of a lease", join(interfaceBegins(expr.MetaKeyOIFNAME, r.Bridges), goTo(chainToLease))})
	}
	return append(out, both("to an address of the pool", destination, setPool, goTo(chainToLease))...)
}

func fromLeases(r Rules, to string) []rule {
	var out []rule
	if r.Bridges != "" {
		out = append(out, rule{"from a bridge of a lease", join(interfaceBegins(expr.MetaKeyIIFNAME, r.Bridges), goTo(to))})
	}
	return append(out, both("from an address of the pool", source, setPool, goTo(to))...)
}

func toHostRules() []rule {
	out := []rule{
		{"answers", join(answer(), accept)},
		{"who is at an address", join(family(true), protocol(unix.IPPROTO_ICMPV6), icmpType(), inSet(setNeighbour), accept)},
		{"a source that is not at home here", join(route(source, false), drop)},
	}
	out = append(out, resolverRules()...)
	out = append(out, both("link-local and metadata", destination, setNever, goTo(chainRefuse))...)
	return append(out,
		rule{"ports of the data plane", join(protocol(unix.IPPROTO_TCP), destinationPort(), inSet(setHostPorts), accept)},
		rule{"the host", goTo(chainRefuse)},
	)
}

func fromLeaseRules(r Rules) []rule {
	out := []rule{{"within one network", join(route(destination, true), accept)}}
	if r.Bridges != "" {
		for _, m := range both("within one network, to many", destination, setMany, accept) {
			m.exprs = join(interfaceBegins(expr.MetaKeyOIFNAME, r.Bridges), m.exprs)
			out = append(out, m)
		}
	}
	out = append(out,
		rule{"a source that is not at home here", join(route(source, false), drop)},
		rule{"answers", join(answer(), accept)},
	)
	out = append(out, resolverRules()...)
	out = append(out, both("link-local and metadata", destination, setNever, goTo(chainRefuse))...)
	out = append(out,
		rule{"the engine's own network", join(interfaceIs(expr.MetaKeyOIFNAME, "docker0"), goTo(chainRefuse))},
		rule{"a network of the engine", join(engineBridge(), goTo(chainRefuse))},
	)
	if r.Bridges != "" {
		out = append(out, rule{"the bridge of another lease", join(interfaceBegins(expr.MetaKeyOIFNAME, r.Bridges), goTo(chainRefuse))})
	}
	out = append(out, both("the pool of leases", destination, setPool, goTo(chainRefuse))...)
	out = append(out, both("allowed", destination, setAllowed, accept)...)
	return append(out, both("private ranges", destination, setPrivate, goTo(chainRefuse))...)
}

// toLeaseRules are silent: whoever has no business there learns nothing.
func toLeaseRules() []rule {
	return []rule{
		{"answers", join(answer(), accept)},
		{"published ports", join(translated(), accept)},
		{"straight to a lease", drop},
	}
}

// refuseRules say no, so that a program need not wait to learn it.
func refuseRules() []rule {
	return []rule{
		{"refuse a connection", join(protocol(unix.IPPROTO_TCP), one(&expr.Reject{Type: unix.NFT_REJECT_TCP_RST}))},
		{"refuse", one(&expr.Reject{Type: unix.NFT_REJECT_ICMPX_UNREACH, Code: unix.NFT_REJECT_ICMPX_ADMIN_PROHIBITED})},
	}
}

func resolverRules() []rule {
	out := both("names", destination, setResolvers, accept)
	for i := range out {
		out[i].exprs = join(protocolIn(setNames), destinationPort(), is(bigEndian16(53)), out[i].exprs)
	}
	return out
}
