// Package sqlitetest gives tests of other packages a real store.
//
// What must never happen here: an import outside of tests.
package sqlitetest

import (
	"testing"

	"github.com/berth-cloud/berth/internal/store/sqlite"
)

// Open returns a store in a directory of its own, closed with the test.
func Open(t testing.TB) *sqlite.Store {
	t.Helper()
	return OpenDir(t, t.TempDir())
}

// OpenDir returns the store in dir, closed with the test if not before.
func OpenDir(t testing.TB, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatalf("open the store in %s: %v", dir, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store in %s: %v", dir, err)
		}
	})
	return s
}
