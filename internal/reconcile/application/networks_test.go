package application

import (
	"net/netip"
	"testing"
)

func TestEachSubnetHasABridgeOfItsOwnName(t *testing.T) {
	const longest = 15 // of an interface on Linux
	n := &Networks{Bridges: "bl012345-"}
	seen := map[string]netip.Prefix{}
	for p := range subnets(netip.MustParsePrefix("10.96.0.0/12")) {
		name := n.bridge(p)
		if other, taken := seen[name]; taken || len(name) > longest {
			t.Fatalf("the bridge of %s is %q, as that of %s", p, name, other)
		}
		seen[name] = p
	}
	if len(seen) != 1<<12 || n.bridge(netip.MustParsePrefix("10.214.5.0/24")) != "bl012345-0ad605" {
		t.Errorf("%d bridges, %q", len(seen), n.bridge(netip.MustParsePrefix("10.214.5.0/24")))
	}
	if name := (&Networks{}).bridge(netip.MustParsePrefix("10.214.5.0/24")); name != "" {
		t.Errorf("the engine is not left to name it: %q", name)
	}
}
