package secrets_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/secrets"
	"github.com/berth-cloud/berth/secrets/vaulttest"
)

func openSealed(t testing.TB, b secrets.Blobs, keyFile string) *secrets.Sealed {
	t.Helper()
	s, err := secrets.OpenSealed(t.Context(), b, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t testing.TB, v secrets.Vault, tenant, key, value string) secrets.Version {
	t.Helper()
	n, err := v.Put(t.Context(), secrets.Ref{Tenant: tenant, Key: key}, secrets.NewSecretString(value))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func get(t testing.TB, v secrets.Vault, tenant, key string) (string, error) {
	t.Helper()
	s, _, err := v.Get(t.Context(), secrets.Ref{Tenant: tenant, Key: key}, 0)
	return s.RevealString(), err
}

func holds(t testing.TB, v secrets.Vault, tenant, key, want string) {
	t.Helper()
	if got, err := get(t, v, tenant, key); err != nil || got != want {
		t.Errorf("%s/%s is %q, %v; want %q", tenant, key, got, err, want)
	}
}

func fails(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
	if err != nil && (strings.Contains(err.Error(), canary) || identity.MatchString(err.Error())) {
		t.Errorf("%s: the error holds a secret: %v", what, err)
	}
}

// identity is a master key, or its start.
var identity = regexp.MustCompile(`AGE-SECRET-KEY-1[0-9A-Z]`)

func keyPath(t testing.TB) string { return filepath.Join(t.TempDir(), "secrets.key") }

func TestSealedKeepsTheVaultContract(t *testing.T) {
	for name, rows := range map[string]func(t testing.TB) secrets.Blobs{
		"Memory": func(testing.TB) secrets.Blobs { return vaulttest.NewBlobs() },
		"Dir":    func(t testing.TB) secrets.Blobs { return openDir(t, t.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) {
			vaulttest.RunVault(t, func(t testing.TB) secrets.Vault { return openSealed(t, rows(t), keyPath(t)) })
		})
	}
}

func TestSealedIsReadWithItsKeyFileAgain(t *testing.T) {
	rows, key := vaulttest.NewBlobs(), keyPath(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("east", 3600))
	s, err := secrets.OpenSealed(t.Context(), rows, key, secrets.WithClock(func() time.Time { return at }))
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "acme", "k", canary)
	again := openSealed(t, rows, key)
	holds(t, again, "acme", "k", canary)
	all, err := again.List(t.Context(), "acme")
	if want := (secrets.Metadata{Key: "k", Version: 1, CreatedAt: at.UTC(), UpdatedAt: at.UTC()}); err != nil || len(all) != 1 || all[0] != want {
		t.Errorf("listed %v, %v; want %v", all, err, want)
	}
}

func TestRowsAndFilesHoldNoValue(t *testing.T) {
	dir, key := t.TempDir(), keyPath(t)
	s := openSealed(t, openDir(t, dir), key)
	put(t, s, "acme", "k", canary)
	put(t, s, "acme", "k", canary+"2")
	if err := s.Delete(t.Context(), secrets.Ref{Tenant: "acme", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	put(t, s, "acme", "k", canary)
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if leaks(string(text)) || leaks(path) || identity.Match(text) {
			t.Errorf("%s holds a secret", path)
		}
		info, _ := d.Info()
		if perm := info.Mode().Perm(); perm != 0o600 {
			t.Errorf("%s has mode %o", path, perm)
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("looked at %d files, %v", files, err)
	}
	if out := fmt.Sprintf("%+v %#v", s, s); leaks(out) || identity.MatchString(out) {
		t.Errorf("the vault prints %s", out)
	}
}

func TestEqualValuesAreSealedDifferently(t *testing.T) {
	rows := vaulttest.NewBlobs()
	s := openSealed(t, rows, keyPath(t))
	seen := map[string]bool{}
	for _, tenant := range []string{"acme", "bolt"} {
		for _, key := range []string{"k", "l"} {
			put(t, s, tenant, key, canary)
			seen[string(rows.Values[secrets.Ref{Tenant: tenant, Key: key}][0].Sealed)] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("four equal values have %d sealed forms", len(seen))
	}
}

// tamper is a vault with two tenants whose rows a test may change.
func tamper(t *testing.T) (*vaulttest.Blobs, *secrets.Sealed) {
	rows := vaulttest.NewBlobs()
	s := openSealed(t, rows, keyPath(t))
	for _, tenant := range []string{"acme", "bolt"} {
		for _, key := range []string{"k", "l"} {
			put(t, s, tenant, key, canary+tenant+key+"1")
			put(t, s, tenant, key, canary+tenant+key+"2")
		}
	}
	return rows, s
}

func TestRowsCannotChangePlaces(t *testing.T) {
	ref := func(tenant, key string) secrets.Ref { return secrets.Ref{Tenant: tenant, Key: key} }
	for name, change := range map[string]func(b *vaulttest.Blobs){
		"another key's value":    func(b *vaulttest.Blobs) { b.Values[ref("acme", "k")] = b.Values[ref("acme", "l")] },
		"another tenant's value": func(b *vaulttest.Blobs) { b.Values[ref("acme", "k")] = b.Values[ref("bolt", "k")] },
		"an earlier version":     func(b *vaulttest.Blobs) { v := b.Values[ref("acme", "k")]; v[1].Sealed = v[0].Sealed },
		"another number":         func(b *vaulttest.Blobs) { b.Values[ref("acme", "k")][1].Version = 7 },
		"another tenant's key":   func(b *vaulttest.Blobs) { b.Keys["acme"] = b.Keys["bolt"] },
		"tenant moved as a whole": func(b *vaulttest.Blobs) {
			b.Keys["acme"] = b.Keys["bolt"]
			b.Values[ref("acme", "k")] = b.Values[ref("bolt", "k")]
		},
		"no data key":            func(b *vaulttest.Blobs) { delete(b.Keys, "acme") },
		"no JSON for a data key": func(b *vaulttest.Blobs) { b.Keys["acme"] = []byte("x") },
		"an empty data key":      func(b *vaulttest.Blobs) { b.Keys["acme"] = []byte(`{"format":1,"for":[],"age":""}`) },
		"a huge data key":        func(b *vaulttest.Blobs) { b.Keys["acme"] = make([]byte, secrets.MaxWrappedBytes+1) },
		"an empty value":         func(b *vaulttest.Blobs) { b.Values[ref("acme", "k")][1].Sealed = nil },
		"a huge value": func(b *vaulttest.Blobs) {
			b.Values[ref("acme", "k")][1].Sealed = make([]byte, secrets.MaxSealedBytes+1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			rows, s := tamper(t)
			change(rows)
			_, err := get(t, s, "acme", "k")
			fails(t, "get", err, secrets.ErrTampered)
			holds(t, s, "bolt", "k", canary+"boltk2")
			if err := s.Delete(t.Context(), ref("acme", "k")); err != nil {
				t.Errorf("it cannot be deleted: %v", err)
			}
		})
	}
}

func TestEveryBitOfARowIsHeld(t *testing.T) {
	rows, s := tamper(t)
	ref := secrets.Ref{Tenant: "acme", Key: "k"}
	sealed := rows.Values[ref][1].Sealed
	for i := range sealed {
		for bit := range 8 {
			sealed[i] ^= 1 << bit
			_, err := get(t, s, "acme", "k")
			fails(t, fmt.Sprintf("bit %d of byte %d", bit, i), err, secrets.ErrTampered)
			sealed[i] ^= 1 << bit
		}
	}
	for n := range sealed {
		rows.Values[ref][1].Sealed = sealed[:n]
		_, err := get(t, s, "acme", "k")
		fails(t, fmt.Sprintf("cut to %d bytes", n), err, secrets.ErrTampered)
	}
	rows.Values[ref][1].Sealed = sealed
	row := rows.Keys["acme"]
	for i := range row {
		was := row[i]
		for _, b := range []byte{was ^ 1, was ^ 0x20, 0} {
			row[i] = b
			got, err := get(t, s, "acme", "k")
			if err == nil && got != canary+"acmek2" || err != nil && !errors.Is(err, secrets.ErrTampered) && !errors.Is(err, secrets.ErrSealed) {
				t.Errorf("byte %d of the data key's row as %q: %q, %v", i, b, got, err)
			}
		}
		row[i] = was
	}
	holds(t, s, "acme", "k", canary+"acmek2")
}

func TestTamperedRowsAreKeptAndCanBeReplaced(t *testing.T) {
	rows, s := tamper(t)
	ref := secrets.Ref{Tenant: "acme", Key: "k"}
	rows.Values[ref][1].Sealed[20] ^= 1
	if v := put(t, s, "acme", "k", "new"); v != 3 || len(rows.Values[ref]) != 3 {
		t.Errorf("version %d of %d rows", v, len(rows.Values[ref]))
	}
	holds(t, s, "acme", "k", "new")
	_, _, err := s.Get(t.Context(), ref, 2)
	fails(t, "the damaged version", err, secrets.ErrTampered)
}

func TestLostDataKeyIsNotReplaced(t *testing.T) {
	rows, s := tamper(t)
	delete(rows.Keys, "acme")
	_, err := s.Put(t.Context(), secrets.Ref{Tenant: "acme", Key: "new"}, secrets.NewSecretString(canary))
	fails(t, "put", err, secrets.ErrTampered)
	if _, ok := rows.Keys["acme"]; ok {
		t.Error("a new data key is in the place of the lost one")
	}
	fails(t, "change of the master key", s.Rewrap(t.Context(), keyPath(t)), secrets.ErrTampered)
}

func TestWrongKeyFileOpensAndDestroysNothing(t *testing.T) {
	rows, _ := tamper(t)
	before := maps.Clone(rows.Keys)
	other := keyPath(t)
	recipient, err := secrets.CreateKeyFile(other)
	if err != nil {
		t.Fatal(err)
	}
	_, err = secrets.OpenSealed(t.Context(), rows, other)
	fails(t, "open", err, secrets.ErrSealed)
	if !strings.Contains(err.Error(), recipient) || !strings.Contains(err.Error(), other) || strings.Count(err.Error(), "age1") != 2 {
		t.Errorf("the error does not name both keys and the file: %v", err)
	}
	if !maps.EqualFunc(before, rows.Keys, bytes.Equal) {
		t.Error("the rows changed")
	}
}

func TestForeignTenantAmongOursIsSealed(t *testing.T) {
	rows, s := tamper(t)
	others, _ := tamper(t)
	rows.Keys["bolt"] = others.Keys["bolt"]
	_, err := get(t, s, "bolt", "k")
	fails(t, "get", err, secrets.ErrSealed)
	_, err = s.Put(t.Context(), secrets.Ref{Tenant: "bolt", Key: "k"}, secrets.NewSecretString(canary))
	fails(t, "put", err, secrets.ErrSealed)
	holds(t, s, "acme", "k", canary+"acmek2")
}

func TestLostKeyFileIsNotReplaced(t *testing.T) {
	for name, rows := range map[string]secrets.Blobs{"memory": vaulttest.NewBlobs(), "directory": openDir(t, t.TempDir())} {
		key := keyPath(t)
		s := openSealed(t, rows, key)
		put(t, s, "acme", "k", canary)
		owners, err := s.Recipients(t.Context())
		if err != nil || len(owners) != 1 {
			t.Fatal(owners, err)
		}
		if err := os.Rename(key, key+".away"); err != nil {
			t.Fatal(err)
		}
		_, err = secrets.OpenSealed(t.Context(), rows, key)
		fails(t, name, err, secrets.ErrKeyLost)
		if !strings.Contains(err.Error(), owners[0]) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: the error does not say what to restore: %v", name, err)
		}
		if _, err := os.Stat(key); err == nil {
			t.Errorf("%s: a new key file was made", name)
		}
		if err := os.Rename(key+".away", key); err != nil {
			t.Fatal(err)
		}
		holds(t, openSealed(t, rows, key), "acme", "k", canary)
	}
}

func TestLostKeyFileIsNotReplacedForValuesAlone(t *testing.T) {
	rows, _ := tamper(t)
	clear(rows.Keys)
	key := keyPath(t)
	_, err := secrets.OpenSealed(t.Context(), rows, key)
	fails(t, "open", err, secrets.ErrKeyLost)
}

func TestUnreadableRowsMakeNoKey(t *testing.T) {
	broken := errors.New("disk on fire")
	rows, key := vaulttest.NewBlobs(), keyPath(t)
	rows.Before = func(string) error { return broken }
	_, err := secrets.OpenSealed(t.Context(), rows, key)
	fails(t, "open", err, broken)
	if _, err := os.Stat(key); err == nil {
		t.Error("a key file was made")
	}
}

func TestVaultsOpenedAtOnceShareTheFirstKey(t *testing.T) {
	rows, key := vaulttest.NewBlobs(), keyPath(t)
	const n = 8
	vaults, errs := make([]*secrets.Sealed, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if vaults[i], errs[i] = secrets.OpenSealed(t.Context(), rows, key); errs[i] == nil {
				_, errs[i] = vaults[i].Put(t.Context(), secrets.Ref{Tenant: "acme", Key: fmt.Sprint("k", i)}, secrets.NewSecretString(canary))
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		holds(t, vaults[(i+1)%n], "acme", fmt.Sprint("k", i), canary)
	}
}

func TestFailuresOfRowsAreToldAndLeaveTheVaultUsable(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, call := range []string{"DataKey", "SetDataKey", "Value", "NextVersion", "AddValue", "ListValues"} {
		rows := vaulttest.NewBlobs()
		s := openSealed(t, rows, keyPath(t))
		rows.Before = func(c string) error {
			if c == call {
				return broken
			}
			return nil
		}
		_, err := s.Put(t.Context(), secrets.Ref{Tenant: "acme", Key: "k"}, secrets.NewSecretString(canary))
		fails(t, call+" of the first put", err, broken)
		rows.Before = nil
		put(t, s, "acme", "k", canary)
		holds(t, s, "acme", "k", canary)
	}
}

func TestPutGivesUpWhenOthersAreAlwaysFaster(t *testing.T) {
	rows := vaulttest.NewBlobs()
	s := openSealed(t, rows, keyPath(t))
	put(t, s, "acme", "k", "1")
	calls := 0
	rows.Before = func(c string) error {
		if c == "AddValue" {
			calls++
			return secrets.ErrConflict
		}
		return nil
	}
	_, err := s.Put(context.Background(), secrets.Ref{Tenant: "acme", Key: "k"}, secrets.NewSecretString(canary))
	fails(t, "put", err, secrets.ErrConflict)
	if calls < 2 || calls > 1000 {
		t.Errorf("it tried %d times", calls)
	}
}
