package provider_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/statestoretest"
)

func openDirStore(t *testing.T, dir string) *provider.DirStore {
	t.Helper()
	s, err := provider.NewDirStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestDirStore(t *testing.T) {
	statestoretest.Run(t, func(t *testing.T) provider.StateStore { return openDirStore(t, t.TempDir()) })
}

func TestMemoryStore(t *testing.T) {
	statestoretest.Run(t, func(*testing.T) provider.StateStore { return provider.NewMemoryStore() })
}

func TestDirStoreSurvivesReopening(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "state")
	first := openDirStore(t, dir)
	v, err := first.Put(t.Context(), "a/b", []byte("one"), "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := openDirStore(t, dir).Get(t.Context(), "a/b")
	if err != nil || string(got.Value) != "one" || got.Version != v {
		t.Errorf("after reopening: %q of %q, %v", got.Value, got.Version, err)
	}
}

func TestDirStoreRemovesWhatACrashLeft(t *testing.T) {
	dir := t.TempDir()
	openDirStore(t, dir)
	half := filepath.Join(dir, "tmp", "0123")
	if err := os.WriteFile(half, []byte("berth-record-1 0123"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "records", "stray.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := openDirStore(t, dir)
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary file is still there: %v", err)
	}
	if keys, err := s.List(t.Context(), ""); err != nil || len(keys) != 0 {
		t.Errorf("List is %q, %v, want nothing", keys, err)
	}
}

func TestDirStoreIsForItsOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := openDirStore(t, dir)
	if _, err := s.Put(t.Context(), "a/b", []byte("one"), ""); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %s", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDirStoreLeavesNothingOfADeletedRecord(t *testing.T) {
	dir := t.TempDir()
	s := openDirStore(t, dir)
	v, err := s.Put(t.Context(), "instance/x/release/y", []byte("one"), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "instance/x/release/y", v); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"records", "tmp"} {
		if left, err := os.ReadDir(filepath.Join(dir, name)); err != nil || len(left) != 0 {
			t.Errorf("%s holds %v, %v", name, left, err)
		}
	}
}

func TestDirStoreReportsDamage(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"cut short": func(b []byte) []byte { return b[:len(b)-1] },
		"changed":   func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"emptied":   func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openDirStore(t, dir)
			if _, err := s.Put(t.Context(), "a", []byte("one"), ""); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "records", "a@")
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(t.Context(), "a"); err == nil || errors.Is(err, provider.ErrNotFound) || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("Get: %v, want the damage", err)
			}
		})
	}
}

func TestDirStoreDoesNotFollowALinkOutside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	s := openDirStore(t, dir)
	if err := os.Symlink(outside, filepath.Join(dir, "records", "a")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "a/b", []byte("one"), ""); err == nil {
		t.Error("Put wrote through a link that leads out of the directory")
	}
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Errorf("outside holds %v", left)
	}
}

func TestAWriterWaitsForTheLockUntilItsDeadline(t *testing.T) {
	dir := t.TempDir()
	s := openDirStore(t, dir)
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Put(ctx, "a", nil, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Put while another holds the lock: %v", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "a", nil, ""); err != nil {
		t.Errorf("Put afterwards: %v", err)
	}
}

// countRounds is how often each process of the next test counts up.
const countRounds = 20

func TestProcessesShareADirStore(t *testing.T) {
	const variable = "BERTH_TEST_DIRSTORE"
	if dir := os.Getenv(variable); dir != "" {
		countUp(t, openDirStore(t, dir))
		return
	}
	dir := t.TempDir()
	s := openDirStore(t, dir)
	if _, err := s.Put(t.Context(), "count", []byte("0"), ""); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	const processes = 3
	for range processes {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcessesShareADirStore$")
			cmd.Env = append(os.Environ(), variable+"="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	got, err := s.Get(t.Context(), "count")
	if want := strconv.Itoa(processes * countRounds); err != nil || string(got.Value) != want {
		t.Errorf("%s increments counted %s, %v", want, got.Value, err)
	}
}

func countUp(t *testing.T, s provider.StateStore) {
	for done := 0; done < countRounds; {
		rec, err := s.Get(t.Context(), "count")
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(string(rec.Value))
		if err != nil {
			t.Fatal(err)
		}
		switch _, err := s.Put(t.Context(), "count", []byte(strconv.Itoa(n+1)), rec.Version); {
		case err == nil:
			done++
		case !errors.Is(err, provider.ErrConflict):
			t.Fatal(err)
		}
	}
}
