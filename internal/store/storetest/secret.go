package storetest

import (
	"testing"

	"github.com/berth-cloud/berth/secrets"
	"github.com/berth-cloud/berth/secrets/vaulttest"
)

func secretTests() []test {
	return []test{
		{"RowsKeepTheirContract", secretRows},
		{"VaultOnThemKeepsItsContract", secretVault},
		{"StandBesideAppsOfTheSameName", secretBesideApps},
	}
}

func secretRows(e *env) {
	// Each test has a store of its own, and is after its rows alone.
	stores := map[secrets.Blobs]*env{}
	open := func(t testing.TB) secrets.Blobs {
		sub := &env{dir: t.TempDir(), open: e.open}
		sub.s = e.open(t, sub.dir)
		rows := sub.s.Secrets()
		stores[rows] = sub
		return rows
	}
	reopen := func(t testing.TB, b secrets.Blobs) secrets.Blobs {
		sub := stores[b]
		if err := sub.s.Close(); err != nil {
			t.Fatal(err)
		}
		return e.open(t, sub.dir).Secrets()
	}
	vaulttest.RunBlobs(e.T, open, reopen)
}

func secretVault(e *env) {
	vaulttest.RunVault(e.T, func(t testing.TB) secrets.Vault {
		v, err := secrets.OpenSealed(e.ctx, e.open(t, t.TempDir()).Secrets(), t.TempDir()+"/secrets.key")
		if err != nil {
			t.Fatal(err)
		}
		return v
	})
}

func secretBesideApps(e *env) {
	e.apply(applying("shop", svc("shop", "web")))
	rows := e.s.Secrets()
	ref := secrets.Ref{Tenant: "shop", Key: "shop-web"}
	e.ok(rows.AddValue(e.ctx, ref, secrets.SealedValue{Version: 1, Sealed: []byte("x"), CreatedAt: at(1)}))
	e.apply(deleting("shop", "shop-web"))
	e.ok(e.s.DeletePendingTeardown(e.ctx, "shop-web"))
	if v, err := rows.Value(e.ctx, ref, 0); err != nil || string(v.Sealed) != "x" || v.CreatedAt != at(1) {
		e.Errorf("after the app was deleted: %+v, %v", v, err)
	}
}
