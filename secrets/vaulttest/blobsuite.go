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

// RunBlobs runs every test of the suite, each on rows that open makes, none yet,
// and ends with its test. When reopen is not nil it returns the same rows opened
// again, as after a restart, after which the earlier ones are not used.
func RunBlobs(t *testing.T, open func(t testing.TB) secrets.Blobs, reopen func(t testing.TB, b secrets.Blobs) secrets.Blobs) {
	for _, tc := range []struct {
		name string
		run  func(*blobEnv)
	}{
		{"DataKeyIsReadBack", dataKeyReadBack},
		{"DataKeyIsReplacedByWhoKnowsIt", dataKeyReplaced},
		{"DataKeysAreBounded", dataKeyBounded},
		{"TenantsArePagedInOrder", tenantsPaged},
		{"TenantWithValuesAloneIsListed", tenantOfValues},
		{"ValuesAreReadBack", valuesReadBack},
		{"OnlyTheNextVersionIsAdded", onlyNext},
		{"ValuesAreListedByKey", valuesListed},
		{"DeletedVersionsDoNotComeAgain", deletedVersions},
		{"NothingCrossesTenants", crossTenants},
		{"BadNamesAreRefused", badNames},
		{"SealedValuesAreBounded", sealedBounded},
		{"EndedContextChangesNothing", endedChangesNothing},
		{"OneOfManyAddsAVersion", oneOfMany},
		{"RowsOutliveARestart", outliveRestart},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			tc.run(&blobEnv{T: t, ctx: ctx, b: open(t), reopen: reopen})
		})
	}
}

type blobEnv struct {
	*testing.T
	ctx    context.Context
	b      secrets.Blobs
	reopen func(testing.TB, secrets.Blobs) secrets.Blobs
}

func (e *blobEnv) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *blobEnv) is(what string, err, want error) {
	e.Helper()
	if !errors.Is(err, want) {
		e.Errorf("%s: %v, want %v", what, err, want)
	}
}

func (e *blobEnv) setKey(tenant, old, wrapped string) error {
	var was []byte
	if old != "" {
		was = []byte(old)
	}
	return e.b.SetDataKey(e.ctx, tenant, was, []byte(wrapped))
}

func (e *blobEnv) keyIs(tenant, want string) {
	e.Helper()
	got, err := e.b.DataKey(e.ctx, tenant)
	if want == "" {
		e.is("data key of "+tenant, err, secrets.ErrNotFound)
	} else if err != nil || string(got) != want {
		e.Errorf("data key of %s: %q, %v, want %q", tenant, got, err, want)
	}
}

// moment is when version v was stored.
func moment(v secrets.Version) time.Time {
	return time.Date(2026, 3, 4, 5, 6, int(v), 700, time.UTC)
}

func (e *blobEnv) add(ref secrets.Ref, v secrets.Version, sealed string) error {
	return e.b.AddValue(e.ctx, ref, secrets.SealedValue{Version: v, Sealed: []byte(sealed), CreatedAt: moment(v).In(time.FixedZone("east", 3600))})
}

func (e *blobEnv) valueIs(ref secrets.Ref, v, number secrets.Version, want string) {
	e.Helper()
	got, err := e.b.Value(e.ctx, ref, v)
	if err != nil || got.Version != number || string(got.Sealed) != want || got.CreatedAt != moment(number) {
		e.Errorf("%s version %d: %+v, %v; want %q as version %d of %v", ref, v, got, err, want, number, moment(number))
	}
}

func (e *blobEnv) nextIs(ref secrets.Ref, want secrets.Version) {
	e.Helper()
	if got, err := e.b.NextVersion(e.ctx, ref); err != nil || got != want {
		e.Errorf("the next version of %s is %d, %v, want %d", ref, got, err, want)
	}
}

func (e *blobEnv) tenants(after string, limit int) string {
	e.Helper()
	page, err := e.b.Tenants(e.ctx, after, limit)
	e.ok(err)
	return strings.Join(page, " ")
}

func dataKeyReadBack(e *blobEnv) {
	e.keyIs("acme", "")
	e.ok(e.setKey("acme", "", "key \x00\xff"))
	e.keyIs("acme", "key \x00\xff")
	e.keyIs("bolt", "")
}

func dataKeyReplaced(e *blobEnv) {
	e.is("replacing one that is not there", e.setKey("acme", "was", "key"), secrets.ErrConflict)
	e.keyIs("acme", "")
	e.ok(e.setKey("acme", "", "one"))
	e.is("a second first key", e.setKey("acme", "", "two"), secrets.ErrConflict)
	e.is("replacing another", e.setKey("acme", "two", "three"), secrets.ErrConflict)
	e.keyIs("acme", "one")
	e.ok(e.setKey("acme", "one", "two"))
	e.ok(e.setKey("acme", "two", "two"))
	e.keyIs("acme", "two")
}

func dataKeyBounded(e *blobEnv) {
	e.ok(e.setKey("acme", "", strings.Repeat("k", secrets.MaxWrappedBytes)))
	e.is("a large one", e.setKey("bolt", "", strings.Repeat("k", secrets.MaxWrappedBytes+1)), secrets.ErrTooLarge)
	e.is("an empty one", e.b.SetDataKey(e.ctx, "bolt", nil, []byte{}), secrets.ErrTooLarge)
	e.keyIs("bolt", "")
}

func tenantsPaged(e *blobEnv) {
	if got := e.tenants("", 10); got != "" {
		e.Errorf("without any: %s", got)
	}
	for _, t := range []string{"c", "a", "b-b", "B"} {
		e.ok(e.setKey(t, "", "key"))
	}
	for _, tc := range []struct {
		after string
		limit int
		want  string
	}{{"", 10, "B a b-b c"}, {"", 2, "B a"}, {"a", 2, "b-b c"}, {"a", 1, "b-b"}, {"aa", 9, "b-b c"}, {"c", 9, ""}} {
		if got := e.tenants(tc.after, tc.limit); got != tc.want {
			e.Errorf("%d after %q: %q, want %q", tc.limit, tc.after, got, tc.want)
		}
	}
}

func tenantOfValues(e *blobEnv) {
	e.ok(e.add(at("acme", "k"), 1, "x"))
	e.ok(e.add(at("acme", "l"), 1, "x"))
	e.ok(e.setKey("bolt", "", "key"))
	if got := e.tenants("", 9); got != "acme bolt" {
		e.Errorf("listed %q", got)
	}
	e.ok(e.b.DeleteValues(e.ctx, at("acme", "k")))
	e.ok(e.b.DeleteValues(e.ctx, at("acme", "l")))
	if got := e.tenants("", 9); got != "bolt" {
		e.Errorf("after the deletion of its values: %q", got)
	}
}

func valuesReadBack(e *blobEnv) {
	ref := at("acme", "a/k")
	for v := secrets.Version(1); v <= 12; v++ {
		e.nextIs(ref, v)
		e.ok(e.add(ref, v, fmt.Sprint("sealed \x00", v)))
	}
	for v := secrets.Version(1); v <= 12; v++ {
		e.valueIs(ref, v, v, fmt.Sprint("sealed \x00", v))
	}
	e.valueIs(ref, 0, 12, "sealed \x0012")
	for _, v := range []secrets.Version{-1, 13, 1 << 40} {
		_, err := e.b.Value(e.ctx, ref, v)
		e.is(fmt.Sprint("version ", v), err, secrets.ErrNotFound)
	}
	_, err := e.b.Value(e.ctx, at("acme", "a"), 0)
	e.is("another key", err, secrets.ErrNotFound)
}

func onlyNext(e *blobEnv) {
	ref := at("acme", "k")
	for _, v := range []secrets.Version{-1, 0, 2, 1 << 40} {
		e.is(fmt.Sprint("version ", v, " first"), e.add(ref, v, "x"), secrets.ErrConflict)
	}
	e.ok(e.add(ref, 1, "one"))
	for _, v := range []secrets.Version{0, 1, 3} {
		e.is(fmt.Sprint("version ", v, " second"), e.add(ref, v, "x"), secrets.ErrConflict)
	}
	e.valueIs(ref, 0, 1, "one")
	e.nextIs(ref, 2)
}

func valuesListed(e *blobEnv) {
	for _, key := range []string{"b", "a/z", "C", "a"} {
		e.ok(e.add(at("acme", key), 1, "x"))
	}
	e.ok(e.add(at("acme", "b"), 2, "y"))
	e.ok(e.add(at("bolt", "d"), 1, "z"))
	got, err := e.b.ListValues(e.ctx, "acme")
	e.ok(err)
	one, two := moment(1), moment(2)
	want := []secrets.Metadata{{Key: "C", Version: 1, CreatedAt: one, UpdatedAt: one}, {Key: "a", Version: 1, CreatedAt: one, UpdatedAt: one},
		{Key: "a/z", Version: 1, CreatedAt: one, UpdatedAt: one}, {Key: "b", Version: 2, CreatedAt: one, UpdatedAt: two}}
	if !slices.Equal(got, want) {
		e.Errorf("listed %v, want %v", got, want)
	}
	if none, err := e.b.ListValues(e.ctx, "nobody"); err != nil || len(none) > 0 {
		e.Errorf("nobody's: %v, %v", none, err)
	}
}

func deletedVersions(e *blobEnv) {
	k, l := at("acme", "k"), at("acme", "l")
	e.ok(e.b.DeleteValues(e.ctx, k))
	e.nextIs(k, 1)
	e.ok(e.add(k, 1, "1"))
	e.ok(e.add(k, 2, "2"))
	e.ok(e.add(l, 1, "of l"))
	e.ok(e.b.DeleteValues(e.ctx, k))
	_, err := e.b.Value(e.ctx, k, 2)
	e.is("a deleted version", err, secrets.ErrNotFound)
	e.is("a version that was deleted", e.add(k, 2, "again"), secrets.ErrConflict)
	e.nextIs(k, 3)
	e.nextIs(l, 2)
	e.ok(e.b.DeleteValues(e.ctx, l))
	e.nextIs(k, 3)
	e.ok(e.b.DeleteValues(e.ctx, k))
	e.ok(e.add(k, 3, "3"))
	e.valueIs(k, 0, 3, "3")
	e.nextIs(at("bolt", "k"), 1)
}

func crossTenants(e *blobEnv) {
	e.ok(e.setKey("acme", "", "key of acme"))
	e.ok(e.add(at("acme", "k"), 1, "acme"))
	_, err := e.b.Value(e.ctx, at("bolt", "k"), 0)
	e.is("another tenant's value", err, secrets.ErrNotFound)
	_, err = e.b.Value(e.ctx, at("ACME", "k"), 1)
	e.is("the value of a tenant in capitals", err, secrets.ErrNotFound)
	e.keyIs("bolt", "")
	if all, err := e.b.ListValues(e.ctx, "bolt"); err != nil || len(all) > 0 {
		e.Errorf("another tenant lists %v, %v", all, err)
	}
	e.ok(e.add(at("bolt", "k"), 1, "bolt"))
	e.ok(e.b.DeleteValues(e.ctx, at("bolt", "k")))
	e.valueIs(at("acme", "k"), 0, 1, "acme")
}

func badNames(e *blobEnv) {
	for _, tenant := range []string{"", ".", "..", "a/b", "a\x00b"} {
		_, derr := e.b.DataKey(e.ctx, tenant)
		_, lerr := e.b.ListValues(e.ctx, tenant)
		_, nerr := e.b.NextVersion(e.ctx, at(tenant, "k"))
		_, verr := e.b.Value(e.ctx, at(tenant, "k"), 0)
		for what, err := range map[string]error{
			"DataKey": derr, "ListValues": lerr, "NextVersion": nerr, "Value": verr,
			"SetDataKey": e.setKey(tenant, "", "key"), "AddValue": e.add(at(tenant, "k"), 1, "x"),
			"DeleteValues": e.b.DeleteValues(e.ctx, at(tenant, "k")),
		} {
			e.is(fmt.Sprintf("%s of tenant %q", what, tenant), err, secrets.ErrInvalidRef)
		}
	}
	for _, key := range []string{"", "..", "a/../b", "/a", "a\n"} {
		_, verr := e.b.Value(e.ctx, at("acme", key), 0)
		e.is("Value", verr, secrets.ErrInvalidRef)
		e.is("AddValue", e.add(at("acme", key), 1, "x"), secrets.ErrInvalidRef)
		e.is("DeleteValues", e.b.DeleteValues(e.ctx, at("acme", key)), secrets.ErrInvalidRef)
	}
	if got := e.tenants("", 9); got != "" {
		e.Errorf("a refused call left tenant %q", got)
	}
}

func sealedBounded(e *blobEnv) {
	ref := at("acme", "k")
	big := bytes.Repeat([]byte("\xff"), secrets.MaxSealedBytes)
	e.ok(e.add(ref, 1, string(big)))
	e.valueIs(ref, 1, 1, string(big))
	e.is("a larger one", e.add(ref, 2, string(big)+"x"), secrets.ErrTooLarge)
	e.nextIs(ref, 2)
	e.ok(e.add(ref, 2, ""))
	e.valueIs(ref, 0, 2, "")
}

func endedChangesNothing(e *blobEnv) {
	ref := at("acme", "k")
	e.ok(e.setKey("acme", "", "key"))
	e.ok(e.add(ref, 1, "one"))
	live := e.ctx
	ctx, cancel := context.WithCancel(live)
	cancel()
	e.ctx = ctx
	_, verr := e.b.Value(ctx, ref, 0)
	_, terr := e.b.Tenants(ctx, "", 1)
	for what, err := range map[string]error{
		"SetDataKey": e.setKey("acme", "key", "another"), "AddValue": e.add(ref, 2, "two"),
		"DeleteValues": e.b.DeleteValues(ctx, ref), "Value": verr, "Tenants": terr,
	} {
		e.is(what, err, context.Canceled)
	}
	e.ctx = live
	e.keyIs("acme", "key")
	e.valueIs(ref, 0, 1, "one")
}

func oneOfMany(e *blobEnv) {
	const callers = 8
	ref := at("acme", "k")
	results := make(chan error, 2*callers)
	for i := range callers {
		go func() { results <- e.add(ref, 1, fmt.Sprint("value ", i)) }()
		go func() { results <- e.setKey("acme", "", fmt.Sprint("key ", i)) }()
	}
	won := 0
	for range 2 * callers {
		err := <-results
		if err == nil {
			won++
		} else {
			e.is("one that lost", err, secrets.ErrConflict)
		}
	}
	if won != 2 {
		e.Errorf("%d calls won, want one of each kind", won)
	}
	e.nextIs(ref, 2)
}

func outliveRestart(e *blobEnv) {
	if e.reopen == nil {
		e.Skip("these rows are gone with their process")
	}
	e.ok(e.setKey("acme", "", "key"))
	e.ok(e.add(at("acme", "k"), 1, "one"))
	e.ok(e.add(at("acme", "gone"), 1, "x"))
	e.ok(e.add(at("acme", "gone"), 2, "y"))
	e.ok(e.b.DeleteValues(e.ctx, at("acme", "gone")))
	e.b = e.reopen(e, e.b)
	e.keyIs("acme", "key")
	e.valueIs(at("acme", "k"), 0, 1, "one")
	e.nextIs(at("acme", "gone"), 3)
	e.is("a version after the restart", e.add(at("acme", "k"), 1, "x"), secrets.ErrConflict)
}
