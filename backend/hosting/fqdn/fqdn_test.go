package fqdn_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend/hosting/fqdn"
)

const lease = "0190a1b2-0000-7000-8000-000000000001"

// hash7 is written a second time, so that the rule cannot change by itself.
func hash7(lease, service string, index int) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", lease, service, index)))[:7]
}

func TestTheLabelOfAnInstance(t *testing.T) {
	long := strings.Repeat("a", 63)
	hash8 := fmt.Sprintf("%x", sha256.Sum256([]byte(long)))[:8]
	for name, c := range map[string]struct {
		service         string
		index, quantity int
		want            string
	}{
		"alone":                   {"web", 0, 1, "web-" + hash7(lease, "web", 0)},
		"first of two":            {"web", 0, 2, "web-0-" + hash7(lease, "web", 0)},
		"second of two":           {"web", 1, 2, "web-1-" + hash7(lease, "web", 1)},
		"without a service":       {"", 0, 1, hash7(lease, "", 0)},
		"third without a service": {"", 2, 3, "2-" + hash7(lease, "", 2)},
		"just fits":               {long[:55], 0, 1, long[:55] + "-" + hash7(lease, long[:55], 0)},
		"one too long":            {long[:56], 0, 1, long[:46] + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(long[:56])))[:8] + "-" + hash7(lease, long[:56], 0)},
		"long, of many":           {long, 123, 200, long[:42] + "-" + hash8 + "-123-" + hash7(lease, long, 123)},
	} {
		got := fqdn.Subdomain(lease, c.service, c.index, c.quantity)
		if got != c.want || len(got) > fqdn.MaxLabel {
			t.Errorf("%s: %s (%d), want %s", name, got, len(got), c.want)
		}
	}
	// Two vectors by value: the names of leases that run depend on them.
	for got, want := range map[string]string{
		fqdn.Host("leases.example.org", lease, "web", 0, 1): "web-e9f50d0.leases.example.org",
		fqdn.Host("leases.example.org", lease, "app", 1, 2): "app-1-ccb235d.leases.example.org",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestTwoLongNamesThatBeginAlikeStayApart(t *testing.T) {
	a, b := strings.Repeat("a", 60)+"-x", strings.Repeat("a", 60)+"-y"
	if x, y := fqdn.Subdomain(lease, a, 0, 1), fqdn.Subdomain(lease, b, 0, 1); x == y || x[:50] == y[:50] {
		t.Errorf("%s, %s", x, y)
	}
}

func TestACustomDomainHasOneForm(t *testing.T) {
	long := strings.Repeat(strings.Repeat("a", 49)+".", 5) + "abc" // 253
	for in, want := range map[string]string{
		"shop.example.org": "shop.example.org", "Shop.EXAMPLE.org.": "shop.example.org", "a.b": "a.b", "xn--bcher-kva.example": "xn--bcher-kva.example",
		"example.org": "example.org", "notleases.example.org": "notleases.example.org", "1.2.3.example": "1.2.3.example", long: long,
		"leases.example.org.evil.com": "leases.example.org.evil.com", "a.0xyz": "a.0xyz",
	} {
		got, err := fqdn.Custom(in, "leases.example.org")
		if err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", ".", "..", "localhost", "shop..org", ".shop.org", "shop.org..", "-a.org", "a-.org", "a_b.org", "*.example.org", "bücher.example", "a.example:80",
		"http://a.org", "a.org/b", "a b.org", "1.2.3.4", "a.0x1f", "0x7f.0x1", "::1", "a.org\n", "a.org\x00", strings.Repeat("a", 64) + ".org", "a" + long, "\u017fhop.org", "\u212a.org",
		"leases.example.org", "LEASES.example.org.", "x.leases.example.org", "a.b.leases.example.org",
	} {
		if got, err := fqdn.Custom(in, "leases.example.org"); !errors.Is(err, fqdn.ErrInvalid) || got != "" {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestAWildcardDomainLeavesRoomForALabel(t *testing.T) {
	if got, err := fqdn.Wildcard("Leases.Example.org"); err != nil || got != "leases.example.org" {
		t.Errorf("%s, %v", got, err)
	}
	for _, in := range []string{"", ".example.org", "example.org.", "*.example.org", "local", strings.Repeat(strings.Repeat("a", 62)+".", 3) + "b"} {
		if got, err := fqdn.Wildcard(in); !errors.Is(err, fqdn.ErrInvalid) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func FuzzCustom(f *testing.F) {
	for _, s := range []string{"shop.example.org", "Shop.Example.ORG.", "xn--a.b", "1.2.3.4", "a..b", "leases.example.org", "\xff.org", "İ.org"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := fqdn.Custom(in, "leases.example.org")
		if err != nil {
			if got != "" || len(err.Error()) > 600 {
				t.Fatalf("%q: %q, %v", in, got, err)
			}
			return
		}
		again, err := fqdn.Custom(got, "leases.example.org")
		if err != nil || again != got {
			t.Fatalf("%q became %q, and that %q: %v", in, got, again, err)
		}
		if len(got) > fqdn.MaxName || strings.Trim(got, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || !strings.Contains(got, ".") || fqdn.Below(got, "leases.example.org") {
			t.Fatalf("%q became %q", in, got)
		}
		if !strings.EqualFold(strings.TrimSuffix(in, "."), got) {
			t.Fatalf("%q became another name: %q", in, got)
		}
	})
}

func FuzzSubdomain(f *testing.F) {
	f.Add(lease, "web", 0, 1)
	f.Add(lease, strings.Repeat("b", 63), 999, 1000)
	f.Fuzz(func(t *testing.T, lease, service string, index, quantity int) {
		if len(service) > fqdn.MaxLabel || index < 0 || index > 9999 {
			return
		}
		got := fqdn.Subdomain(lease, service, index, quantity)
		if got == "" || len(got) > fqdn.MaxLabel || got != fqdn.Subdomain(lease, service, index, quantity) {
			t.Fatalf("%q", got)
		}
	})
}
