package application

import (
	"net/netip"
	"slices"
	"testing"
)

func TestASubnetThatWasJustFreedComesLast(t *testing.T) {
	p := netip.MustParsePrefix
	a, b, c, d := p("10.9.0.0/24"), p("10.9.1.0/24"), p("10.9.2.0/24"), p("10.9.3.0/24")
	for what, s := range map[string]struct {
		last  netip.Prefix
		taken []netip.Prefix
		want  []netip.Prefix
	}{
		"nothing is taken":                {want: []netip.Prefix{a, b, c, d}},
		"after a start":                   {taken: []netip.Prefix{p("172.17.0.0/16"), b, a}, want: []netip.Prefix{c, d, a, b}},
		"the last one was freed":          {last: b, taken: []netip.Prefix{a}, want: []netip.Prefix{c, d, a, b}},
		"the last one of all":             {last: d, want: []netip.Prefix{a, b, c, d}},
		"somebody has the whole of it":    {taken: []netip.Prefix{p("10.9.0.0/22")}, want: []netip.Prefix{b, c, d, a}},
		"what is taken is not the last's": {last: a, taken: []netip.Prefix{c}, want: []netip.Prefix{b, c, d, a}},
	} {
		n := &Networks{Pool: p("10.9.0.0/22"), last: s.last}
		if got := slices.Collect(n.inTurn(s.taken)); !slices.Equal(got, s.want) {
			t.Errorf("%s: %v; want %v", what, got, s.want)
		}
	}
	n := &Networks{Pool: p("10.9.0.0/22")}
	for range 5 { // each is freed at once
		for range n.inTurn(nil) {
			break
		}
	}
	if n.last != a {
		t.Errorf("after five the last is %s", n.last)
	}
}
