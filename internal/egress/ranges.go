package egress

import "net/netip"

// addressRange is a part of the address space; of a list, the first that fits counts.
type addressRange struct {
	prefix netip.Prefix
	class  class
}

// Out of the special-purpose address registries of the IANA. None is changed at run
// time.
var (
	ranges4 = []addressRange{
		{netip.MustParsePrefix("0.0.0.0/32"), unspecified},
		{netip.MustParsePrefix("0.0.0.0/8"), reserved}, // this network; Linux takes 0.0.0.0 for itself
		{netip.MustParsePrefix("127.0.0.0/8"), loopback},
		{netip.MustParsePrefix("10.0.0.0/8"), private},
		{netip.MustParsePrefix("172.16.0.0/12"), private},
		{netip.MustParsePrefix("192.168.0.0/16"), private},
		{netip.MustParsePrefix("100.64.0.0/10"), private}, // shared by a carrier or an overlay
		{netip.MustParsePrefix("169.254.0.0/16"), linkLocal},
		{netip.MustParsePrefix("192.0.0.0/24"), reserved}, // protocol assignments
		{netip.MustParsePrefix("192.0.2.0/24"), reserved}, // documentation
		{netip.MustParsePrefix("198.51.100.0/24"), reserved},
		{netip.MustParsePrefix("203.0.113.0/24"), reserved},
		{netip.MustParsePrefix("192.88.99.0/24"), reserved}, // relays of 6to4
		{netip.MustParsePrefix("198.18.0.0/15"), reserved},  // benchmarks
		{netip.MustParsePrefix("224.0.0.0/4"), multicast},
		{netip.MustParsePrefix("240.0.0.0/4"), reserved}, // and broadcast
	}
	ranges6 = []addressRange{
		{netip.MustParsePrefix("::/128"), unspecified},
		{netip.MustParsePrefix("::1/128"), loopback},
		{netip.MustParsePrefix("fc00::/7"), private},
		{netip.MustParsePrefix("fe80::/10"), linkLocal},
		{netip.MustParsePrefix("ff00::/8"), multicast},
		{netip.MustParsePrefix("2001::/23"), reserved}, // protocol assignments, Teredo among them
		{netip.MustParsePrefix("2001:db8::/32"), reserved},
		{netip.MustParsePrefix("3fff::/20"), reserved},
		{netip.MustParsePrefix("2000::/3"), public},
	}
)

// metadataAddresses are those of clouds that no range below gives away: most lie in
// ranges that an operator may allow, one is public.
var metadataAddresses = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"),    // most clouds
	netip.MustParseAddr("169.254.170.2"),      // Amazon, containers
	netip.MustParseAddr("fd00:ec2::254"),      // Amazon
	netip.MustParseAddr("fd00:ec2::23"),       // Amazon, pods
	netip.MustParseAddr("fd20:ce::254"),       // Google
	netip.MustParseAddr("100.100.100.200"),    // Alibaba
	netip.MustParseAddr("168.63.129.16"),      // Azure
	netip.MustParseAddr("192.0.0.192"),        // Oracle
	netip.MustParseAddr("fd00:c1::a9fe:a9fe"), // Oracle
	netip.MustParseAddr("fd00:42::42"),        // Scaleway
}

var (
	translated = netip.MustParsePrefix("::ffff:0:0:0/96") // RFC 2765
	nat64      = netip.MustParsePrefix("64:ff9b::/96")    // RFC 6052
	sixToFour  = netip.MustParsePrefix("2002::/16")       // RFC 3056
	compatible = netip.MustParsePrefix("::/96")           // RFC 4291, deprecated
)

// embeddedIPv4 is the IPv4 address for which an IPv6 one stands. Local NAT64 prefixes
// (64:ff9b:1::/48) are not told apart here: they are outside of global unicast, and
// refused as that.
func embeddedIPv4(addr netip.Addr) (inner netip.Addr, ok bool) {
	b := addr.As16()
	tail := netip.AddrFrom4([4]byte(b[12:16]))
	switch {
	case translated.Contains(addr), nat64.Contains(addr):
		return tail, true
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case compatible.Contains(addr) && addr != netip.IPv6Unspecified() && addr != netip.IPv6Loopback():
		return tail, true
	// ISATAP (RFC 5214) has it behind an interface's identifier of its own.
	case b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe && !addr.IsLinkLocalUnicast():
		return tail, true
	}
	return netip.Addr{}, false
}
