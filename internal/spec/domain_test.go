package spec

import (
	"strings"
	"testing"
)

func TestDomainsAreLowerCased(t *testing.T) {
	long := strings.Repeat("a", 63)
	for text, want := range map[string]string{
		"shop.example": "shop.example", "SHOP.Example": "shop.example", "localhost": "localhost", "hello.localhost": "hello.localhost",
		"xn--bcher-kva.example": "xn--bcher-kva.example", "a-b.c1.example": "a-b.c1.example", "1.example": "1.example",
		long + ".example": long + ".example",
	} {
		if got, err := NormalizeDomain(text); err != nil || got != want {
			t.Errorf("NormalizeDomain(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestWhatIsNoDomainIsRefused(t *testing.T) {
	for _, text := range []string{
		"", ".", "a..b", ".a", "a.", "-a.example", "a-.example", "a_b.example", "*.example", "*", "http://a.example", "a.example/x",
		"a.example:80", "192.0.2.1", "[2001:db8::1]", "2001:db8::1", "10", "a.10", "bücher.example", "a b.example", "a\n.example",
		"a\x00.example", strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 127) + "example", "::::", "[", "https://",
	} {
		if got, err := NormalizeDomain(text); err == nil {
			t.Errorf("NormalizeDomain(%q) = %q, want an error", text, got)
		}
	}
}

func TestPrefixesHaveOneForm(t *testing.T) {
	for text, want := range map[string]string{"/": "", "/api": "/api", "/api/": "/api", "/a/b-c_d~e/": "/a/b-c_d~e", "/.well-known": "/.well-known"} {
		if got, err := NormalizePrefix(text); err != nil || got != want {
			t.Errorf("NormalizePrefix(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "api", "//", "/a//b", "/a/..", "/../a", "/.", "/a?b", "/a#b", "/a%2fb", "/a b", "/ä", "/a\n", "/" + strings.Repeat("a", 300)} {
		if got, err := NormalizePrefix(text); err == nil {
			t.Errorf("NormalizePrefix(%q) = %q, want an error", text, got)
		}
	}
}
