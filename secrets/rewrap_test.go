package secrets_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/berth-cloud/berth/secrets"
	"github.com/berth-cloud/berth/secrets/vaulttest"
)

// rotation is a vault with three tenants whose master key is to be changed.
type rotation struct {
	*testing.T
	rows      *vaulttest.Blobs
	key, next string
	old       []byte
}

func newRotation(t *testing.T) *rotation {
	dir := t.TempDir()
	r := &rotation{T: t, rows: vaulttest.NewBlobs(), key: filepath.Join(dir, "secrets.key"), next: filepath.Join(dir, "secrets.key.new")}
	s := openSealed(t, r.rows, r.key)
	for _, tenant := range []string{"a", "b", "c"} {
		put(t, s, tenant, "k", canary+tenant)
	}
	r.old = r.read(r.key)
	return r
}

func (r *rotation) read(path string) []byte {
	r.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		r.Fatal(err)
	}
	return text
}

// readable checks that the key file opens everything.
func (r *rotation) readable(what string) *secrets.Sealed {
	r.Helper()
	s, err := secrets.OpenSealed(r.Context(), r.rows, r.key)
	if err != nil {
		r.Fatalf("%s: %v", what, err)
	}
	for _, tenant := range []string{"a", "b", "c"} {
		if got, err := get(r, s, tenant, "k"); err != nil || got != canary+tenant {
			r.Errorf("%s: tenant %s has %q, %v", what, tenant, got, err)
		}
	}
	return s
}

// done checks that the new key alone opens everything.
func (r *rotation) done(what string) {
	r.Helper()
	s := r.readable(what)
	owners, err := s.Recipients(r.Context())
	now := string(r.read(r.key))
	if err != nil || len(owners) != 1 || !strings.Contains(now, owners[0]) || now == string(r.old) {
		r.Errorf("%s: the data keys are for %q, %v, and the key file was changed: %t", what, owners, err, now != string(r.old))
	}
	if _, err := os.Stat(r.next); err == nil {
		r.Errorf("%s: %s was not moved", what, r.next)
	}
	kept, _ := filepath.Glob(r.key + ".*.old")
	if len(kept) != 1 || string(r.read(kept[0])) != string(r.old) {
		r.Fatalf("%s: the old key is not kept: %q", what, kept)
	}
	_, err = secrets.OpenSealed(r.Context(), r.rows, kept[0])
	fails(r, what+": open with the old key", err, secrets.ErrSealed)
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(r.key), ".*")); len(left) > 0 {
		r.Errorf("%s: left behind %q", what, left)
	}
}

func TestMasterKeyIsChanged(t *testing.T) {
	r := newRotation(t)
	s := r.readable("before")
	if err := s.Rewrap(t.Context(), r.next); err != nil {
		t.Fatal(err)
	}
	r.done("after")
	holds(t, s, "a", "k", canary+"a")
	put(t, s, "d", "k", canary)
	holds(t, r.readable("after"), "d", "k", canary)
	if info, err := os.Stat(r.key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v, %v", info.Mode(), err)
	}
}

func TestMasterKeyIsChangedToAFileThatIsThere(t *testing.T) {
	r := newRotation(t)
	recipient, err := secrets.CreateKeyFile(r.next)
	if err != nil {
		t.Fatal(err)
	}
	s := r.readable("before")
	if err := s.Rewrap(t.Context(), r.next); err != nil {
		t.Fatal(err)
	}
	r.done("after")
	if owners, _ := s.Recipients(t.Context()); len(owners) != 1 || owners[0] != recipient {
		t.Errorf("the data keys are for %q, not %s", owners, recipient)
	}
}

func TestMasterKeyIsChangedTwice(t *testing.T) {
	r := newRotation(t)
	s := r.readable("before")
	for i := range 3 {
		if err := s.Rewrap(t.Context(), r.next); err != nil {
			t.Fatal(i, err)
		}
	}
	r.readable("after")
	if kept, _ := filepath.Glob(r.key + ".*.old"); len(kept) != 3 {
		t.Errorf("kept %q", kept)
	}
}

// A crash is: from some call on nothing works, and what was before it stays.
func TestChangeOfTheMasterKeySurvivesACrashAtEveryWrite(t *testing.T) {
	crash := errors.New("power lost")
	points := 0
	for _, after := range []bool{false, true} {
		for k := 0; ; k++ {
			r := newRotation(t)
			writes := 0
			strike := func(call string) error {
				if call == "SetDataKey" {
					writes++
				}
				if writes > k {
					return crash
				}
				return nil
			}
			s := r.readable("before")
			if after {
				r.rows.After = strike
			} else {
				r.rows.Before = strike
			}
			err := s.Rewrap(t.Context(), r.next)
			r.rows.Before, r.rows.After = nil, nil
			what := fmt.Sprintf("crash at write %d (after it: %t)", k, after)
			if err == nil {
				r.done(what)
				break
			}
			points++
			fails(t, what, err, crash)
			s2 := r.readable(what)
			put(t, s2, "new", "k", canary)
			if err := s2.Rewrap(t.Context(), r.next); err != nil {
				t.Fatalf("%s: the change again: %v", what, err)
			}
			r.done(what + ", then again")
			holds(t, r.readable(what), "new", "k", canary)
		}
	}
	if points < 10 {
		t.Errorf("only %d crashes: two writes for each of three tenants, before and after", points)
	}
}

func TestVaultLivesOnAfterAFailedChangeOfTheMasterKey(t *testing.T) {
	r := newRotation(t)
	s := r.readable("before")
	writes := 0
	r.rows.Before = func(call string) error {
		if call == "SetDataKey" {
			if writes++; writes == 2 {
				return errors.New("disk full")
			}
		}
		return nil
	}
	if err := s.Rewrap(t.Context(), r.next); err == nil {
		t.Fatal("it succeeded")
	}
	put(t, s, "d", "k", canary)
	holds(t, r.readable("after"), "d", "k", canary)
	if err := s.Rewrap(t.Context(), r.next); err != nil {
		t.Fatal(err)
	}
	r.done("again")
}

func TestChangeOfTheMasterKeyGoesOnAfterACrashBetweenFiles(t *testing.T) {
	t.Run("old key kept, new one not in place", func(t *testing.T) {
		r := newRotation(t)
		s := r.readable("before")
		owners, _ := s.Recipients(t.Context())
		if err := os.Link(r.key, r.key+"."+owners[0][4:12]+".old"); err != nil {
			t.Fatal(err)
		}
		if err := s.Rewrap(t.Context(), r.next); err != nil {
			t.Fatal(err)
		}
		r.done("after")
	})
	t.Run("new key in place and not moved", func(t *testing.T) {
		r := newRotation(t)
		s := r.readable("before")
		if err := s.Rewrap(t.Context(), r.next); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(r.next, r.read(r.key), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := r.readable("after").Rewrap(t.Context(), r.next); err != nil {
			t.Fatal(err)
		}
		r.done("again")
	})
	t.Run("another key where the old one is kept", func(t *testing.T) {
		r := newRotation(t)
		s := r.readable("before")
		owners, _ := s.Recipients(t.Context())
		if _, err := secrets.CreateKeyFile(r.key + "." + owners[0][4:12] + ".old"); err != nil {
			t.Fatal(err)
		}
		if err := s.Rewrap(t.Context(), r.next); err == nil {
			t.Error("the change went on without the old key being kept")
		}
		r.readable("after")
	})
}

func TestMasterKeyIsNotChangedToItself(t *testing.T) {
	r := newRotation(t)
	s := r.readable("before")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(r.key, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{r.key, filepath.Dir(r.key) + "/./secrets.key", link} {
		fails(t, path, s.Rewrap(t.Context(), path), secrets.ErrKeyFile)
	}
	r.readable("after")
}

func TestDamagedDataKeyStopsTheChangeOfTheMasterKey(t *testing.T) {
	r := newRotation(t)
	s := r.readable("before")
	was := r.rows.Keys["b"]
	r.rows.Keys["b"] = r.rows.Keys["a"]
	err := s.Rewrap(t.Context(), r.next)
	fails(t, "change", err, secrets.ErrTampered)
	if string(r.read(r.key)) != string(r.old) {
		t.Error("the key file was replaced")
	}
	r.rows.Keys["b"] = was
	if err := r.readable("after").Rewrap(t.Context(), r.next); err != nil {
		t.Fatal(err)
	}
	r.done("restored")
}

func TestSecretsAreStoredWhileTheMasterKeyChanges(t *testing.T) {
	r := newRotation(t)
	s := r.readable("before")
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	stored := make([][]string, 4)
	for w := range stored {
		writers.Go(func() {
			for i := 0; i < 60 && (ctx.Err() == nil || i < 5); i++ {
				tenant := fmt.Sprintf("t-%d-%d", w, i)
				if _, err := s.Put(t.Context(), secrets.Ref{Tenant: tenant, Key: "k"}, secrets.NewSecretString(canary+tenant)); err != nil {
					t.Errorf("put while the key changes: %v", err)
					return
				}
				if got, err := get(t, s, tenant, "k"); err != nil || got != canary+tenant {
					t.Errorf("get while the key changes: %q, %v", got, err)
				}
				stored[w] = append(stored[w], tenant)
			}
		})
	}
	for range 2 {
		if err := s.Rewrap(t.Context(), r.next); err != nil {
			t.Error(err)
		}
	}
	stop()
	writers.Wait()
	again := r.readable("after")
	if owners, err := again.Recipients(t.Context()); err != nil || len(owners) != 1 {
		t.Errorf("the data keys are for %q, %v", owners, err)
	}
	for _, tenants := range stored {
		for _, tenant := range tenants {
			holds(t, again, tenant, "k", canary+tenant)
		}
	}
}
