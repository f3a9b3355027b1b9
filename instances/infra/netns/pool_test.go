package netns

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/instances/infra/hostdir"
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, s := range texts {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

func TestALinkIsTakenFromWhatNobodyUses(t *testing.T) {
	for _, c := range []struct {
		pool string
		used []netip.Prefix
		seed uint32
		want string // "" for none
	}{
		{"10.9.0.0/29", nil, 0, "10.9.0.0/30"},
		{"10.9.0.0/29", nil, 1, "10.9.0.4/30"},
		{"10.9.0.0/29", nil, 2, "10.9.0.0/30"},
		{"10.9.0.0/29", prefixes("10.9.0.0/30"), 0, "10.9.0.4/30"},
		{"10.9.0.0/29", prefixes("10.9.0.2/32"), 0, "10.9.0.4/30"}, // an address of the host
		{"10.9.0.0/29", prefixes("10.9.0.0/30", "10.9.0.4/30"), 0, ""},
		{"10.9.0.0/29", prefixes("10.0.0.0/8"), 0, ""},
		{"10.9.0.0/30", prefixes("10.9.0.4/30"), 7, "10.9.0.0/30"},
		{"255.255.255.248/29", nil, 1, "255.255.255.252/30"},
	} {
		got, ok := freeLink(netip.MustParsePrefix(c.pool), c.used, c.seed)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%s without %v from %d: %v, %v; want %q", c.pool, c.used, c.seed, got, ok, c.want)
		}
	}
}

func TestLinksNeverOverlapAndAPoolIsUsedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.IntRange(24, 30).Draw(t, "bits")
		pool := netip.PrefixFrom(netip.MustParseAddr("10.9.8.0"), bits)
		var used []netip.Prefix
		for range 1 << (linkBits - bits) {
			link, ok := freeLink(pool, used, rapid.Uint32().Draw(t, "seed"))
			if !ok || !pool.Overlaps(link) || link.Masked() != link || link.Bits() != linkBits {
				t.Fatalf("%v, %v of %v after %d", link, ok, pool, len(used))
			}
			for _, u := range used {
				if u.Overlaps(link) {
					t.Fatalf("%v given twice", link)
				}
			}
			used = append(used, link)
		}
		if link, ok := freeLink(pool, used, rapid.Uint32().Draw(t, "seed")); ok {
			t.Fatalf("%v is given of a pool that is used up", link)
		}
	})
}

func TestTheHostsRoutesAreRead(t *testing.T) {
	got, err := parseRoutes([]byte(`[{"dst":"default","gateway":"192.0.2.1","dev":"eth0"},{"dst":"10.9.0.0/24","dev":"x"},
		{"type":"local","dst":"10.9.0.1","table":"local"},{"dst":"0.0.0.0/0"}]`))
	want := prefixes("10.9.0.0/24", "10.9.0.1/32")
	if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if got, err := parseRoutes(nil); err != nil || got != nil {
		t.Errorf("no routes: %v, %v", got, err)
	}
	for _, bad := range []string{"{", `[{"dst":"nowhere"}]`} {
		if got, err := parseRoutes([]byte(bad)); err == nil {
			t.Errorf("%s is read as %v", bad, got)
		}
	}
}

func TestAMachinesEndsHaveTheAddressesOfItsLink(t *testing.T) {
	r := record{Link: netip.MustParsePrefix("10.9.0.4/30"), Record: hostdir.Record{ProviderID: "berth-01234567-89abcdef"}}
	if h, m := r.hostAddr().String(), r.machineAddr().String(); h != "10.9.0.5" || m != "10.9.0.6" {
		t.Errorf("host %s, machine %s", h, m)
	}
	if r.link() != "bm012389abcdef" || len(r.link()) > 15 {
		t.Errorf("link %q", r.link())
	}
	if h, m := r.mac("host"), r.mac("machine"); h.String() == m.String() || h[0] != 2 || len(h) != 6 {
		t.Errorf("hardware addresses %v and %v", h, m)
	}
}
