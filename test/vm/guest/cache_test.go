package guest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func write(dir, text string) error {
	return os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600)
}

func TestAFolderIsMadeOnceAndOnlyWhole(t *testing.T) {
	cache, now := t.TempDir(), time.Now()
	broken := errors.New("broken")
	_, err := cached(t.Context(), cache, "one", now, func(dir string) error { return errors.Join(write(dir, "half"), broken) })
	if !errors.Is(err, broken) {
		t.Errorf("%v, not what the build says", err)
	}
	if found, _ := os.ReadDir(cache); len(found) != 0 {
		t.Errorf("a build that failed left %v", found)
	}
	builds := 0
	for range 2 {
		dir, err := cached(t.Context(), cache, "one", now, func(dir string) error {
			builds++
			return write(dir, "whole")
		})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(text) != "whole" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if builds != 1 {
		t.Errorf("it was made %d times", builds)
	}
}

func TestWhatNobodyAsksForGoesAndWhatIsAskedForStays(t *testing.T) {
	cache, now := t.TempDir(), time.Now()
	ask := func(name string, at time.Time) {
		if _, err := cached(t.Context(), cache, name, at, func(dir string) error { return write(dir, name) }); err != nil {
			t.Fatal(err)
		}
	}
	ask("old", now)
	ask("asked", now)
	later := now.Add(keep - time.Hour)
	ask("asked", later)
	ask("new", later.Add(2*time.Hour))
	for name, want := range map[string]bool{"old": false, "asked": true, "new": true} {
		if _, err := os.Stat(filepath.Join(cache, name)); (err == nil) != want {
			t.Errorf("%s is there: %v", name, err == nil)
		}
	}
}

func TestWhoWaitsForAnotherBuildGivesUpInTime(t *testing.T) {
	cache := t.TempDir()
	unlock, err := lock(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := lock(ctx, cache); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// A folder in which the host's own is mounted is not removed.
func TestAMountedFolderIsNotRemoved(t *testing.T) {
	if err := removeTree("/proc"); err == nil {
		t.Error("a mount is removed")
	}
}

func TestAnotherRecipeIsAnotherFolder(t *testing.T) {
	one := debian("unit")
	seen := map[string]bool{one.hash(): true}
	for _, change := range []func(*recipe){
		func(r *recipe) { r.Version++ },
		func(r *recipe) { r.Packages = r.Packages[1:] },
		func(r *recipe) { r.Files["/etc/x"] = "" },
		func(r *recipe) { r.Links["/etc/x"] = "/dev/null" },
		func(r *recipe) { r.DiskMiB++ },
	} {
		other := debian("unit")
		change(&other)
		if seen[other.hash()] {
			t.Errorf("%+v has the hash of another", other)
		}
		seen[other.hash()] = true
	}
	if debian("unit").hash() != one.hash() || debian("other").hash() == one.hash() {
		t.Error("the hash does not follow the unit")
	}
}
