package node

import (
	"net/netip"
	"slices"
)

// never are destinations that no configuration opens: link-local addresses, services
// that tell or change what a machine is, and what is not an address of one machine.
func never() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4",
		"168.63.129.16/32",   // Azure
		"100.100.100.200/32", // Alibaba
		"192.0.0.192/32",     // Oracle
		"::/96",              // unspecified, loopback, and IPv4 in an old form
		"::ffff:0:0/96",      // IPv4 in a form that no wire has
		"fe80::/10", "ff00::/8",
		"fd00:ec2::/32",          // AWS
		"fd20:ce::254/128",       // Google
		"fd00:c1::a9fe:a9fe/128", // Oracle
	)
}

// private are destinations that need to be allowed: those of a network that somebody
// runs for himself, and those that reach such a one by translation.
func private() []netip.Prefix {
	return prefixes(
		"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10",
		"192.0.0.0/24", "198.18.0.0/15",
		"fc00::/7", "fec0::/10",
		"64:ff9b::/96", "64:ff9b:1::/48", // NAT64
		"2001::/32", "2002::/16", // Teredo, 6to4
	)
}

// many are destinations of more than one machine. They leave a bridge by no route, so
// that from one bridge to one of ours they stay within it.
func many() []netip.Prefix { return prefixes("224.0.0.0/4", "255.255.255.255/32", "ff00::/8") }

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, p := range all {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}

// IsPrivate reports whether a lease reaches an address only when it is allowed, or as a
// resolver.
func IsPrivate(a netip.Addr) bool {
	for _, p := range append(private(), never()...) {
		if p.Contains(a.Unmap()) {
			return true
		}
	}
	return false
}

// Opens reports whether a resolver can be asked that is private.
func (r Rules) Opens(resolver netip.Addr) bool {
	if slices.Contains(r.Resolvers, resolver) {
		return true
	}
	for _, p := range r.Allow {
		if p.Contains(resolver) && !NeverOpen(netip.PrefixFrom(resolver, resolver.BitLen())) {
			return true
		}
	}
	return false
}

// NeverOpen reports whether a prefix has no address that leases could be allowed to reach.
func NeverOpen(p netip.Prefix) bool {
	for _, n := range never() {
		if n.Bits() <= p.Bits() && n.Contains(p.Addr()) {
			return true
		}
	}
	return false
}

// span is the addresses from first up to end, which is not one of them; an end that is
// not valid is after the last there is.
type span struct{ first, end netip.Addr }

// spans are prefixes of one family as they lie, without overlaps.
func spans(all []netip.Prefix, six bool) []span {
	var own []netip.Prefix
	for _, p := range all {
		if p.Addr().Is6() == six {
			own = append(own, p.Masked())
		}
	}
	slices.SortFunc(own, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	var out []span
	for _, p := range own {
		s := span{p.Addr(), last(p).Next()}
		if n := len(out); n > 0 && (!out[n-1].end.IsValid() || s.first.Compare(out[n-1].end) <= 0) {
			if before := &out[n-1]; before.end.IsValid() && (!s.end.IsValid() || s.end.Compare(before.end) > 0) {
				before.end = s.end
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

func last(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < len(b)*8; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}
