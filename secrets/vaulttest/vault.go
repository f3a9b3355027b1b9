package vaulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/secrets"
)

// patience bounds each test of the suite.
const patience = 2 * time.Minute

// RunVault runs every test of the suite, each on an empty vault that open makes
// and ends with its test.
func RunVault(t *testing.T, open func(t testing.TB) secrets.Vault) {
	for _, tc := range []struct {
		name string
		run  func(*vaultEnv)
	}{
		{"PutIsReadBack", putIsReadBack},
		{"AnyBytesAreAValue", anyBytes},
		{"VersionsGrowAndStay", versionsGrow},
		{"SameValueKeepsTheVersion", sameValue},
		{"EarlierValueIsANewVersion", earlierValue},
		{"MissingIsNotFound", missing},
		{"TenantsAreApart", tenantsApart},
		{"KeysAreApart", keysApart},
		{"ListTellsNamesAndTimes", listTells},
		{"DeleteTakesEveryVersion", deleteAll},
		{"DeleteOfNothingSucceeds", deleteNothing},
		{"VersionsNeverComeAgain", versionsNeverAgain},
		{"BadReferencesAreRefused", badRefs},
		{"LargeValuesAreBounded", largeValues},
		{"EndedContextIsRefused", endedContext},
		{"ConcurrentPutsTakeVersionsOfTheirOwn", concurrentPuts},
		{"ErrorsHoldNoValue", errorsHoldNoValue},
		{"ModelAgrees", modelAgrees},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			tc.run(&vaultEnv{T: t, ctx: ctx, v: open(t)})
		})
	}
}

type vaultEnv struct {
	*testing.T
	ctx context.Context
	v   secrets.Vault
}

func at(tenant, key string) secrets.Ref { return secrets.Ref{Tenant: tenant, Key: key} }

func (e *vaultEnv) put(ref secrets.Ref, value string) secrets.Version {
	e.Helper()
	v, err := e.v.Put(e.ctx, ref, secrets.NewSecretString(value))
	if err != nil || v < 1 {
		e.Fatalf("put %s: version %d, %v", ref, v, err)
	}
	return v
}

// holds checks a version's value; 0 is the newest, whose number newest is.
func (e *vaultEnv) holds(ref secrets.Ref, v, number secrets.Version, value string) {
	e.Helper()
	s, got, err := e.v.Get(e.ctx, ref, v)
	if err != nil || got != number || s.RevealString() != value {
		e.Errorf("get %s version %d: %.40q as version %d, %v; want %.40q as %d", ref, v, s.RevealString(), got, err, value, number)
	}
}

func (e *vaultEnv) gone(ref secrets.Ref, v secrets.Version) {
	e.Helper()
	s, n, err := e.v.Get(e.ctx, ref, v)
	if !errors.Is(err, secrets.ErrNotFound) || n != 0 || !s.IsZero() {
		e.Errorf("get %s version %d: version %d, %v; want not found", ref, v, n, err)
	}
	if err != nil && !strings.Contains(err.Error(), ref.Key) {
		e.Errorf("error %q does not name %s", err, ref)
	}
}

func (e *vaultEnv) list(tenant string) []secrets.Metadata {
	e.Helper()
	all, err := e.v.List(e.ctx, tenant)
	if err != nil {
		e.Fatal(err)
	}
	return all
}

func (e *vaultEnv) delete(ref secrets.Ref) {
	e.Helper()
	if err := e.v.Delete(e.ctx, ref); err != nil {
		e.Fatal(err)
	}
}

func putIsReadBack(e *vaultEnv) {
	ref := at("acme", "shop/TOKEN")
	v := e.put(ref, "value")
	e.holds(ref, 0, v, "value")
	e.holds(ref, v, v, "value")
}

func anyBytes(e *vaultEnv) {
	var all bytes.Buffer
	for i := range 256 {
		all.WriteByte(byte(i))
	}
	for i, value := range []string{"", " ", "$HOME $(id) `id` #x 'q' \"d\" \\n", "two\nlines\r\n", "\x00", all.String()} {
		ref := at("acme", fmt.Sprint("k", i))
		e.holds(ref, 0, e.put(ref, value), value)
	}
	ref := at("acme", "zero")
	if _, err := e.v.Put(e.ctx, ref, secrets.Secret{}); err != nil {
		e.Error(err)
	}
	if s, _, err := e.v.Get(e.ctx, ref, 0); err != nil || s.Len() != 0 {
		e.Errorf("the empty value: %d bytes, %v", s.Len(), err)
	}
}

func versionsGrow(e *vaultEnv) {
	ref := at("acme", "k")
	var versions []secrets.Version
	for i := range 12 {
		versions = append(versions, e.put(ref, fmt.Sprint("value ", i)))
	}
	if !slices.IsSorted(versions) || len(slices.Compact(slices.Clone(versions))) != len(versions) {
		e.Fatalf("versions do not grow: %v", versions)
	}
	for i, v := range versions {
		e.holds(ref, v, v, fmt.Sprint("value ", i))
	}
	e.holds(ref, 0, versions[11], "value 11")
}

func sameValue(e *vaultEnv) {
	ref := at("acme", "k")
	first := e.put(ref, "same")
	before := e.list("acme")
	if again := e.put(ref, "same"); again != first {
		e.Errorf("the same value became version %d after %d", again, first)
	}
	if after := e.list("acme"); !slices.Equal(before, after) {
		e.Errorf("the same value changed %v to %v", before, after)
	}
	if next := e.put(ref, "same "); next <= first {
		e.Errorf("another value became version %d after %d", next, first)
	}
}

func earlierValue(e *vaultEnv) {
	ref := at("acme", "k")
	first, second := e.put(ref, "a"), e.put(ref, "b")
	third := e.put(ref, "a")
	if third <= second {
		e.Errorf("going back to an earlier value became version %d after %d", third, second)
	}
	e.holds(ref, first, first, "a")
	e.holds(ref, 0, third, "a")
}

func missing(e *vaultEnv) {
	ref := at("acme", "k")
	e.gone(ref, 0)
	e.gone(ref, 1)
	v := e.put(ref, "value")
	for _, other := range []secrets.Version{v + 1, v - 1, -1, 1 << 40, -1 << 63} {
		if other != 0 {
			e.gone(ref, other)
		}
	}
}

func tenantsApart(e *vaultEnv) {
	a, b := at("acme", "k"), at("bolt", "k")
	va := e.put(a, "of acme")
	e.gone(b, 0)
	e.gone(b, va)
	if all := e.list("bolt"); len(all) > 0 {
		e.Errorf("another tenant sees %v", all)
	}
	vb := e.put(b, "of bolt")
	e.holds(a, 0, va, "of acme")
	e.holds(b, 0, vb, "of bolt")
	e.delete(a)
	e.gone(a, 0)
	e.holds(b, vb, vb, "of bolt")
	// Neither is what another's name and key would be, put together differently.
	e.put(at("t", "a/b"), "one")
	e.gone(at("t", "a"), 0)
	e.gone(at("T", "a/b"), 0)
	if all := e.list("T"); len(all) > 0 {
		e.Errorf("a tenant that differs in case sees %v", all)
	}
}

func keysApart(e *vaultEnv) {
	keys := []string{"k", "K", "k.", "k/a", "k/a/b", "k-a", "k_a", "k:a", ".k", "k..a", "a/k", "1", "2", "key", "tenant.json"}
	versions := map[string]secrets.Version{}
	for _, k := range keys {
		versions[k] = e.put(at("acme", k), "value of "+k)
	}
	for _, k := range keys {
		e.holds(at("acme", k), versions[k], versions[k], "value of "+k)
	}
	e.delete(at("acme", "k"))
	for _, k := range keys[1:] {
		e.holds(at("acme", k), 0, versions[k], "value of "+k)
	}
}

func listTells(e *vaultEnv) {
	if all := e.list("acme"); len(all) != 0 {
		e.Errorf("an empty vault lists %v", all)
	}
	for _, k := range []string{"b", "a/z", "C", "a"} {
		e.put(at("acme", k), "1")
	}
	newest := e.put(at("acme", "b"), "2")
	e.put(at("bolt", "other"), "1")
	var keys []string
	for _, m := range e.list("acme") {
		keys = append(keys, m.Key)
		if m.CreatedAt.IsZero() || m.UpdatedAt.Before(m.CreatedAt) || m.CreatedAt.Location() != time.UTC || m.UpdatedAt.Location() != time.UTC {
			e.Errorf("%s: created %v, updated %v", m.Key, m.CreatedAt, m.UpdatedAt)
		}
		if m.Key == "b" && m.Version != newest {
			e.Errorf("b is listed with version %d, not %d", m.Version, newest)
		}
	}
	if want := []string{"C", "a", "a/z", "b"}; !slices.Equal(keys, want) {
		e.Errorf("listed %q, want %q", keys, want)
	}
}

func deleteAll(e *vaultEnv) {
	ref, other := at("acme", "k"), at("acme", "other")
	first, second := e.put(ref, "1"), e.put(ref, "2")
	kept := e.put(other, "3")
	e.delete(ref)
	for _, v := range []secrets.Version{0, first, second} {
		e.gone(ref, v)
	}
	if all := e.list("acme"); len(all) != 1 || all[0].Key != "other" {
		e.Errorf("listed %v after the deletion", all)
	}
	e.holds(other, 0, kept, "3")
}

func deleteNothing(e *vaultEnv) {
	e.delete(at("acme", "k"))
	e.put(at("acme", "other"), "value")
	e.delete(at("acme", "k"))
	e.put(at("acme", "k"), "value")
	e.delete(at("acme", "k"))
	e.delete(at("acme", "k"))
}

func versionsNeverAgain(e *vaultEnv) {
	ref := at("acme", "k")
	last := secrets.Version(0)
	for range 3 {
		for _, value := range []string{"x", "y"} {
			v := e.put(ref, value)
			if v <= last {
				e.Fatalf("version %d came after %d", v, last)
			}
			last = v
		}
		e.delete(ref)
	}
	next := e.put(ref, "x")
	for v := secrets.Version(1); v < next; v++ {
		e.gone(ref, v)
	}
}

func badRefs(e *vaultEnv) {
	for _, ref := range []secrets.Ref{
		{}, at("", "k"), at("acme", ""), at("acme", "../k"), at("..", "k"), at("a/b", "k"), at("acme", "/k"), at("acme", "k\n"),
		at("acme", strings.Repeat("k", secrets.MaxKeyBytes+1)), at(strings.Repeat("t", secrets.MaxTenantBytes+1), "k"),
	} {
		_, perr := e.v.Put(e.ctx, ref, secrets.NewSecretString("value"))
		_, _, gerr := e.v.Get(e.ctx, ref, 0)
		for what, err := range map[string]error{"put": perr, "get": gerr, "delete": e.v.Delete(e.ctx, ref)} {
			if !errors.Is(err, secrets.ErrInvalidRef) {
				e.Errorf("%s %q: %v", what, ref, err)
			}
		}
	}
	for _, tenant := range []string{"", ".", "..", "a/b", "a\x00"} {
		if _, err := e.v.List(e.ctx, tenant); !errors.Is(err, secrets.ErrInvalidRef) {
			e.Errorf("list %q: %v", tenant, err)
		}
	}
	long := at(strings.Repeat("t", secrets.MaxTenantBytes), strings.Repeat("k", secrets.MaxKeyBytes))
	e.holds(long, 0, e.put(long, "value"), "value")
}

func largeValues(e *vaultEnv) {
	ref := at("acme", "k")
	big := strings.Repeat("x", secrets.MaxValueBytes)
	v := e.put(ref, big)
	if _, err := e.v.Put(e.ctx, ref, secrets.NewSecretString(big+"y")); !errors.Is(err, secrets.ErrTooLarge) {
		e.Errorf("one byte too many: %v", err)
	}
	e.holds(ref, 0, v, big)
}

func endedContext(e *vaultEnv) {
	ref := at("acme", "k")
	v := e.put(ref, "value")
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	_, perr := e.v.Put(ctx, ref, secrets.NewSecretString("another"))
	_, _, gerr := e.v.Get(ctx, ref, 0)
	_, lerr := e.v.List(ctx, "acme")
	for what, err := range map[string]error{"put": perr, "get": gerr, "list": lerr, "delete": e.v.Delete(ctx, ref)} {
		if !errors.Is(err, context.Canceled) {
			e.Errorf("%s: %v", what, err)
		}
	}
	e.holds(ref, 0, v, "value")
}

func concurrentPuts(e *vaultEnv) {
	const callers = 6
	ref := at("acme", "k")
	type result struct {
		value string
		v     secrets.Version
		err   error
	}
	results := make(chan result, 2*callers)
	for i := range callers {
		go func() {
			for j := range 2 {
				value := fmt.Sprint("value ", i, " ", j)
				v, err := e.v.Put(e.ctx, ref, secrets.NewSecretString(value))
				results <- result{value, v, err}
			}
		}()
	}
	seen := map[secrets.Version]string{}
	for range 2 * callers {
		r := <-results
		if r.err != nil {
			e.Error(r.err)
			continue
		}
		if other, twice := seen[r.v]; twice {
			e.Errorf("version %d was given to %q and %q", r.v, other, r.value)
		}
		seen[r.v] = r.value
	}
	for v, value := range seen {
		e.holds(ref, v, v, value)
	}
}

func errorsHoldNoValue(e *vaultEnv) {
	const canary = "canary-value"
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	_, ended := e.v.Put(ctx, at("acme", "k"), secrets.NewSecretString(canary))
	_, invalid := e.v.Put(e.ctx, at("acme", ""), secrets.NewSecretString(canary))
	_, large := e.v.Put(e.ctx, at("acme", "k"), secrets.NewSecretString(strings.Repeat(canary, secrets.MaxValueBytes/10)))
	for _, err := range []error{ended, invalid, large} {
		if err == nil || strings.Contains(fmt.Sprintf("%+v", err), canary) {
			e.Errorf("no error, or one with the value: %.200v", err)
		}
	}
}
