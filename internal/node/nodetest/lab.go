package nodetest

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/node"
)

// Bridges begins the names of the bridges of leases in a lab.
const Bridges = "bltest-"

// lab is a host and everybody around it.
type lab struct {
	t      testing.TB
	prefix string
	spaces map[string]*Space
	host   *Space
}

// Rules are those that the lab's host is to have.
func Rules() node.Rules {
	return node.Rules{
		Name: "lab", Bridges: Bridges,
		Pools:     []netip.Prefix{netip.MustParsePrefix("10.214.0.0/16"), netip.MustParsePrefix("fd21:4::/32")},
		Allow:     []netip.Prefix{netip.MustParsePrefix("172.16.9.0/24"), netip.MustParsePrefix("fd21:99::/32")},
		Resolvers: []netip.Addr{netip.MustParseAddr("192.168.77.9"), netip.MustParseAddr("fd21:77::9")},
		HostPorts: []uint16{80, 443},
	}
}

// newLab builds the network. Who is where:
//
//	a1, a2    one lease      b1   another       c1   one whose bridge the engine named
//	app       an app of a control plane on the same engine
//	lan       a neighbour of the host, also behind all sorts of private addresses
//	inet      somebody on the Internet
func newLab(t testing.TB) *lab {
	t.Helper()
	Need(t)
	l := &lab{t: t, prefix: "bnt" + strings.ToLower(rand.Text()[:6]) + "-", spaces: map[string]*Space{}}
	l.host = l.space("host")
	l.host.Sysctl(t, "ipv4/ip_forward=1")
	l.host.Sysctl(t, "ipv6/conf/all/forwarding=1")
	l.bridge(Bridges+"a", "10.214.1.1/24", "fd21:4:1::1/64")
	l.bridge(Bridges+"b", "10.214.2.1/24", "fd21:4:2::1/64")
	l.bridge("br-c0123456789a", "10.214.3.1/24", "fd21:4:3::1/64")
	l.bridge("br-0123456789ab", "10.210.1.1/24", "fd21:10:1::1/64")
	l.container("a1", Bridges+"a", "10.214.1.2/24", "fd21:4:1::2/64", "fe80::2/64")
	l.container("a2", Bridges+"a", "10.214.1.3/24", "fd21:4:1::3/64", "fe80::3/64")
	l.container("b1", Bridges+"b", "10.214.2.2/24", "fd21:4:2::2/64", "fe80::2/64")
	l.container("c1", "br-c0123456789a", "10.214.3.2/24", "fd21:4:3::2/64", "fe80::2/64")
	l.container("app", "br-0123456789ab", "10.210.1.2/24", "fd21:10:1::2/64", "fe80::2/64")
	for name, s := range l.spaces {
		serve(t, s, name)
	}
	maps.Copy(l.spaces, Surround(t, l.host, l.prefix))
	publish(t, l.host)
	return l
}

func (l *lab) space(name string) *Space {
	s := NewSpace(l.t, l.prefix+name)
	l.spaces[name] = s
	return s
}

func (l *lab) bridge(name string, addrs ...string) {
	lines := []string{"link add " + name + " type bridge", "link set " + name + " up", "address add fe80::1/64 dev " + name + " nodad"}
	for _, a := range addrs {
		lines = append(lines, "address add "+a+" dev "+name+nodad(a))
	}
	l.host.IP(l.t, lines...)
}

// container joins a namespace to a bridge.
func (l *lab) container(name, bridge string, addrs ...string) {
	s := l.space(name)
	l.host.IP(l.t, fmt.Sprintf("link add ve-%s type veth peer name eth0 netns %s", name, s.Name),
		"link set ve-"+name+" master "+bridge, "link set ve-"+name+" up")
	lines := []string{"link set eth0 up"}
	for _, a := range addrs {
		lines = append(lines, "address add "+a+" dev eth0"+nodad(a))
	}
	for _, a := range addrs[:2] {
		lines = append(lines, "route add default via "+netip.MustParsePrefix(a).Masked().Addr().Next().String())
	}
	s.IP(l.t, lines...)
}

// Surround gives a host a LAN and the Internet, with somebody on each who listens on port
// 7000, among others, and says who it is: "lan" and "inet". The names of their namespaces
// begin with a prefix.
func Surround(t testing.TB, host *Space, prefix string) map[string]*Space {
	t.Helper()
	out := map[string]*Space{"lan": NewSpace(t, prefix+"lan"), "inet": NewSpace(t, prefix+"inet")}
	neighbour(t, host, out["lan"], "lan", "192.168.77.1/24", "fd21:77::1/64", "192.168.77.9", "fd21:77::9",
		"169.254.169.254", "100.64.9.9", "10.99.9.9", "172.16.9.9", "172.17.9.9", "fd00:ec2::254", "fd21:98::9", "fd21:99::9")
	neighbour(t, host, out["inet"], "inet", "203.0.113.1/24", "2001:db8:113::1/64", "203.0.113.9", "2001:db8:113::9", "198.51.100.7", "2001:db8:7::7")
	host.IP(t, "route add default via 203.0.113.9", "route add default via 2001:db8:113::9")
	for name, s := range out {
		serve(t, s, name)
	}
	return out
}

// neighbour joins a namespace to the host by a wire, with addresses of which the first two
// are on the wire and the others behind them.
func neighbour(t testing.TB, host, s *Space, name, host4, host6 string, addrs ...string) {
	t.Helper()
	host.IP(t, fmt.Sprintf("link add %s0 type veth peer name eth0 netns %s", name, s.Name), "link set "+name+"0 up",
		"address add "+host4+" dev "+name+"0", "address add "+host6+" dev "+name+"0 nodad")
	lines := []string{"link set eth0 up", "address add " + addrs[0] + "/24 dev eth0", "address add " + addrs[1] + "/64 dev eth0 nodad"}
	var routes []string
	for _, a := range addrs[2:] {
		addr := netip.MustParseAddr(a)
		via := addrs[0]
		if addr.Is6() {
			via = addrs[1]
		}
		lines = append(lines, fmt.Sprintf("address add %s/%d dev lo", a, addr.BitLen()))
		routes = append(routes, fmt.Sprintf("route add %s/%d via %s", a, addr.BitLen(), via))
	}
	// It knows the way to everybody, as somebody with bad intentions would.
	for _, own := range []string{host4, host6} {
		lines = append(lines, "route add default via "+netip.MustParsePrefix(own).Addr().String())
	}
	s.IP(t, lines...)
	host.IP(t, routes...)
}

func nodad(addr string) string {
	if strings.Contains(addr, ":") {
		return " nodad"
	}
	return ""
}
