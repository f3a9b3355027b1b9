package egress

import (
	"errors"
	"net/netip"
	"testing"
)

var forms = []struct {
	class class
	addrs []string
}{
	{public, []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0",
		"172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.15",
		"2606:4700:4700::1111", "2000::", "2001:200::", "2a00::1", "3ffe:ffff::1",
		"::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::1", "::1.1.1.1", "::ffff:0:1.1.1.1", "2a00::5efe:101:101", "2a00::200:5efe:101:101",
	}},
	{loopback, []string{"127.0.0.1", "127.0.0.0", "127.255.255.255", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1"}},
	{private, []string{
		"10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.255.255",
		"fc00::1", "fdff:ffff::1", "::ffff:10.0.0.1", "::ffff:192.168.1.1", "::ffff:c0a8:101",
	}},
	{linkLocal, []string{"169.254.0.1", "169.254.255.255", "::ffff:169.254.1.1", "fe80::1", "febf:ffff::1", "fe80::5efe:101:101"}},
	{zoned, []string{"fe80::1%eth0", "2606:4700::1%eth0", "::1%lo", "::ffff:1.1.1.1%eth0"}},
	{multicast, []string{"224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1", "::ffff:224.0.0.1"}},
	{unspecified, []string{"0.0.0.0", "::", "::ffff:0.0.0.0"}},
	{metadata, []string{
		"169.254.169.254", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "169.254.170.2", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "100.100.100.200",
		"168.63.129.16", "::ffff:168.63.129.16", "192.0.0.192", "fd00:c1::a9fe:a9fe", "fd00:42::42",
	}},
	{reserved, []string{
		"0.0.0.1", "0.255.255.255", "192.0.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "240.0.0.1", "255.255.255.255",
		"2001:db8::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:1ff::1", "3fff:fff::1", "fec0::1", "feff::1", "100::1", "64:ff9b:1::1.1.1.1", "4000::1",
		"1fff::1", "5f00::1", "fe00::1", "::2:1.1.1.1", "::fffe:1.1.1.1", "::1:0:0:0", "64:ff9b:0:1::1.1.1.1",
	}},
	{embedded, []string{
		// What lies behind a translator is as far away as what it stands for.
		"64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::0.0.0.0", "64:ff9b::168.63.129.16", "64:ff9b::224.0.0.1",
		"2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::1", "2002:c0a8:101::1", "2002::1", "2002:ffff:ffff::",
		"::127.0.0.1", "::10.0.0.1", "::169.254.169.254", "::2", "::ffff:0:127.0.0.1", "::ffff:0:169.254.169.254", "::ffff:0:10.1.1.1",
		"2a00::5efe:7f00:1", "2a00::200:5efe:a9fe:a9fe", "fd00::5efe:a00:1", "2a00::5efe:0:0",
	}},
}

func TestAddressesByWhatTheyAre(t *testing.T) {
	for _, f := range forms {
		for _, text := range f.addrs {
			addr := netip.MustParseAddr(text)
			if got := classify(addr); got != f.class {
				t.Errorf("%s is %q; want %q", text, got, f.class)
			}
		}
	}
	if got := classify(netip.Addr{}); got != invalid {
		t.Errorf("no address is %q", got)
	}
}

func TestWhatAPolicyLetsThrough(t *testing.T) {
	for _, p := range []Policy{{}, {AllowLoopback: true}, {AllowPrivate: true}, {AllowLoopback: true, AllowPrivate: true}} {
		for _, f := range forms {
			allowed := f.class == public || f.class == loopback && p.AllowLoopback || f.class == private && p.AllowPrivate
			for _, text := range f.addrs {
				err := p.Check(netip.MustParseAddr(text))
				if allowed && err != nil || !allowed && !errors.Is(err, ErrRefused) {
					t.Errorf("%+v, %s: %v; allowed %t", p, text, err, allowed)
				}
			}
		}
		if err := p.Check(netip.Addr{}); !errors.Is(err, ErrRefused) {
			t.Errorf("%+v, no address: %v", p, err)
		}
	}
}

// The ends of every range that is not public, and what lies beside them.
func TestNoRangeIsLongerOrShorterThanItIs(t *testing.T) {
	for _, ranges := range [][]addressRange{ranges4, ranges6} {
		for _, r := range ranges {
			if r.class == public {
				continue
			}
			first, last := r.prefix.Masked().Addr(), lastOf(r.prefix)
			for _, addr := range []netip.Addr{first, last} {
				if classify(addr) == public {
					t.Errorf("%s of %s is public", addr, r.prefix)
				}
			}
			if r.prefix.Addr() != first {
				t.Errorf("%s does not begin at %s", r.prefix, first)
			}
		}
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}
