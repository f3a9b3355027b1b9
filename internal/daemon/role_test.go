package daemon

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/store/sqlite"
)

func openStore(t *testing.T, dir string) store.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func TestADataDirectoryKeepsItsRole(t *testing.T) {
	dir, logger := t.TempDir(), slog.New(slog.DiscardHandler)
	if err := CheckRole(filepath.Join(dir, "none"), RoleServer); err != nil {
		t.Errorf("a folder that is not there yet: %v", err)
	}
	st := openStore(t, dir)
	for range 2 {
		if err := SettleRole(t.Context(), dir, RoleBackend, st, logger); err != nil {
			t.Fatal(err)
		}
	}
	for name, err := range map[string]error{"before": CheckRole(dir, RoleServer), "under the lock": SettleRole(t.Context(), dir, RoleServer, st, logger)} {
		if !errors.Is(err, ErrRole) || !strings.Contains(err.Error(), "belongs to berthd backend") || !strings.Contains(err.Error(), "--data-dir") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, roleFile), []byte("captain\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckRole(dir, RoleBackend); err == nil || !strings.Contains(err.Error(), "neither server nor backend") {
		t.Errorf("a mark that says nothing: %v", err)
	}
}

func TestAnOlderDataDirectoryHasTheRoleOfWhatItHolds(t *testing.T) {
	record := func(t *testing.T, _ string, st store.Store) {
		if _, err := st.PutRecord(t.Context(), "leases/a", []byte("{}"), 0); err != nil {
			t.Fatal(err)
		}
	}
	plane := func(t *testing.T, dir string, _ store.Store) {
		if err := os.Mkdir(filepath.Join(dir, "ingress"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		holds []func(*testing.T, string, store.Store)
		is    []Role
	}{
		"nothing":       {nil, []Role{RoleServer, RoleBackend}},
		"a lease":       {[]func(*testing.T, string, store.Store){record}, []Role{RoleBackend}},
		"a data plane":  {[]func(*testing.T, string, store.Store){plane}, []Role{RoleServer}},
		"things of two": {[]func(*testing.T, string, store.Store){record, plane}, []Role{RoleServer, RoleBackend}},
	} {
		for _, role := range []Role{RoleServer, RoleBackend} {
			dir := t.TempDir()
			st := openStore(t, dir)
			for _, hold := range c.holds {
				hold(t, dir, st)
			}
			err := SettleRole(t.Context(), dir, role, st, slog.New(slog.DiscardHandler))
			fits := len(c.is) == 2 || c.is[0] == role
			if fits && err != nil || !fits && !errors.Is(err, ErrRole) {
				t.Errorf("%s, started as %s: %v", name, role, err)
			}
			if has, err := markedRole(dir); err != nil || fits && has != role || !fits && has != c.is[0] {
				t.Errorf("%s, started as %s: marked as %q, %v", name, role, has, err)
			}
		}
	}
}
