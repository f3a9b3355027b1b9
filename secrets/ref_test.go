package secrets_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berth-cloud/berth/secrets"
)

func TestRefsAreNames(t *testing.T) {
	long := strings.Repeat("k", secrets.MaxKeyBytes)
	for _, tc := range []struct {
		tenant, key string
		ok          bool
	}{
		{"acme", "DATABASE_URL", true},
		{"acme", "shop/web/TOKEN", true},
		{"acme", "registry.example:5000", true},
		{"acme", "...", true},
		{"acme@example", "a/.b/c..d", true},
		{"t" + strings.Repeat("x", secrets.MaxTenantBytes-1), long, true},
		{"t" + strings.Repeat("x", secrets.MaxTenantBytes), "k", false},
		{"acme", long + "k", false},
		{"", "k", false}, {"acme", "", false},
		{".", "k", false}, {"..", "k", false}, {"a/b", "k", false}, {"a\x00", "k", false}, {"a b", "k", false},
		{"acme", ".", false}, {"acme", "..", false}, {"acme", "../x", false}, {"acme", "x/..", false}, {"acme", "x/../y", false},
		{"acme", "/x", false}, {"acme", "x/", false}, {"acme", "x//y", false}, {"acme", `x\y`, false},
		{"acme", "x\ny", false}, {"acme", "x\x00", false}, {"acme", "x\x7f", false}, {"acme", "x y", false}, {"acme", "schlüssel", false},
		{"acme", "\xff", false}, {"acme", "$(x)", false},
	} {
		ref, err := secrets.NewRef(tc.tenant, tc.key)
		if tc.ok != (err == nil) || !tc.ok && !errors.Is(err, secrets.ErrInvalidRef) {
			t.Errorf("%q, %q: %v", tc.tenant, tc.key, err)
		}
		if ref != (secrets.Ref{Tenant: tc.tenant, Key: tc.key}) {
			t.Errorf("%q, %q became %+v", tc.tenant, tc.key, ref)
		}
		if err != nil && (strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }) || len(err.Error()) > 400) {
			t.Errorf("%q, %q: the error is not fit to print: %q", tc.tenant, tc.key, err)
		}
	}
}

func TestMemoryIsGoneWithItsVault(t *testing.T) {
	ref := secrets.Ref{Tenant: "acme", Key: "k"}
	if _, err := secrets.NewMemory().Put(context.Background(), ref, secrets.NewSecretString("v")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := secrets.NewMemory().Get(context.Background(), ref, 0); !errors.Is(err, secrets.ErrNotFound) {
		t.Errorf("another vault answers %v", err)
	}
}
