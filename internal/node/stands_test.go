package node

import (
	"net/netip"
	"testing"
)

func TestPoolsOverlapWhereTheyShareAnAddress(t *testing.T) {
	s := Standing{First: netip.MustParseAddr("10.214.0.0"), Last: netip.MustParseAddr("10.214.255.255")}
	for pool, want := range map[string]bool{
		"10.214.0.0/16": true, "10.214.7.0/24": true, "10.0.0.0/8": true, "10.214.255.0/24": true,
		"10.213.0.0/16": false, "10.215.0.0/16": false, "fd00::/8": false,
	} {
		if got := s.Overlaps(netip.MustParsePrefix(pool)); got != want {
			t.Errorf("%s: %v", pool, got)
		}
	}
}
