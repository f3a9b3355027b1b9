package node

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

func TestSpansHoldWhatTheirPrefixesHold(t *testing.T) {
	draw := func(t *rapid.T) netip.Addr {
		// Few different bits, so that prefixes lie in and beside each other.
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, rapid.Uint32Range(0, 15).Draw(t, "high")<<28|rapid.Uint32Range(0, 15).Draw(t, "low"))))
	}
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(rapid.Custom(func(t *rapid.T) netip.Prefix {
			return netip.PrefixFrom(draw(t), rapid.SampledFrom([]int{0, 1, 2, 3, 4, 28, 29, 30, 31, 32}).Draw(t, "bits")).Masked()
		})).Draw(t, "prefixes")
		found := spans(all, false)
		for i, s := range found {
			if i > 0 && (!found[i-1].end.IsValid() || found[i-1].end.Compare(s.first) >= 0) {
				t.Fatalf("%v touches or overlaps the one before: %v", s, found)
			}
		}
		for range 50 {
			a := draw(t)
			in := false
			for _, p := range all {
				in = in || p.Contains(a)
			}
			spanned := false
			for _, s := range found {
				spanned = spanned || s.first.Compare(a) <= 0 && (!s.end.IsValid() || a.Less(s.end))
			}
			if in != spanned {
				t.Fatalf("%s is in %v: %t, in %v: %t", a, all, in, found, spanned)
			}
		}
		if six := spans(all, true); len(six) != 0 {
			t.Fatalf("of IPv6: %v", six)
		}
	})
}

func TestWhatIsPrivateIsKnown(t *testing.T) {
	for a, want := range map[string]bool{
		"10.0.0.2": true, "172.31.0.2": true, "192.168.1.1": true, "100.64.0.1": true, "169.254.169.254": true, "127.0.0.53": true,
		"fd00::1": true, "fe80::1": true, "::1": true, "::ffff:10.0.0.2": true, "64:ff9b::a00:2": true,
		"1.1.1.1": false, "172.32.0.1": false, "2606:4700:4700::1111": false,
	} {
		if got := IsPrivate(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s is private: %t", a, got)
		}
	}
}
