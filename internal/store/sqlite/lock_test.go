package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/store"
)

func wantLocked(t *testing.T, err error, says ...string) {
	t.Helper()
	if !errors.Is(err, store.ErrLocked) {
		t.Fatalf("got %v, want that the directory is locked", err)
	}
	for _, part := range append(says, "stop it", "another data directory") {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func openTest(t *testing.T, dir string) *Store {
	t.Helper()
	now := time.Date(2026, 3, 4, 5, 6, 7, 8, time.FixedZone("", 3600))
	s, err := Open(t.Context(), Options{Dir: dir, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestSecondOpenIsRefusedNamingTheFirst(t *testing.T) {
	dir := t.TempDir()
	first := openTest(t, dir)
	_, err := Open(t.Context(), Options{Dir: dir})
	wantLocked(t, err, dir, fmt.Sprintf("process %d since 2026-03-04T04:06:07Z", os.Getpid()))
	if _, err := first.ListApps(t.Context()); err != nil {
		t.Errorf("the first store suffers: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	openTest(t, dir)
}

func TestHolderThatHasNotSaidItsNameYetIsStillRefused(t *testing.T) {
	dir := t.TempDir()
	openTest(t, dir)
	for _, text := range []string{"", "{", `{"pid":0}`, strings.Repeat("x", 3*maxHolderBytes)} {
		if err := os.WriteFile(filepath.Join(dir, lockFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), Options{Dir: dir})
		wantLocked(t, err, dir, "another running process")
	}
}

func TestLongerNameOfAFormerHolderLeavesNoRest(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, lockFile)
	if err := os.WriteFile(path, []byte(`{"pid":123456789,"since":"2020-01-01T00:00:00.123456789Z"}`+"\nrest"), 0o600); err != nil {
		t.Fatal(err)
	}
	openTest(t, dir)
	_, err := Open(t.Context(), Options{Dir: dir})
	wantLocked(t, err, fmt.Sprintf("process %d since 2026", os.Getpid()))
}
