package storage_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/berth-cloud/berth/instances/storage"
)

func put(t *testing.T, s storage.Storage, key, data string) {
	t.Helper()
	if _, err := s.Put(t.Context(), key, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryThatIsMissingIsNotEmpty(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not-mounted")
	if _, err := storage.OpenDirectory(dir); !errors.Is(err, storage.ErrUnavailable) {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
}

func TestADirectoryThatGoesIsUnavailable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "objects")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d := openDirectory(t, dir)
	put(t, d, "k", "x")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	allUnavailable(t, d)
}

func TestAClosedDirectoryIsUnavailable(t *testing.T) {
	d := openDirectory(t, t.TempDir())
	put(t, d, "k", "x")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	allUnavailable(t, d)
}

func TestObjectsOutliveTheirProcess(t *testing.T) {
	dir := t.TempDir()
	d := openDirectory(t, dir)
	put(t, d, "shard/a/k", "x")
	before, err := d.GetMetadata(t.Context(), "shard/a/k")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := openDirectory(t, dir).GetMetadata(t.Context(), "shard/a/k"); err != nil || after != before {
		t.Errorf("%+v became %+v, %v", before, after, err)
	}
}

func TestFilesAreClosedToOthers(t *testing.T) {
	dir := t.TempDir()
	put(t, openDirectory(t, dir), "shard/a/k", "x")
	for name, mode := range map[string]os.FileMode{"shard": 0o700, "shard/a": 0o700, "shard/a/k": 0o600, ".berth": 0o700} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestAPersonsFilesAreObjects(t *testing.T) {
	dir := t.TempDir()
	d := openDirectory(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "config.jsonc"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	data, tag, err := d.Get(t.Context(), "config.jsonc")
	if err != nil || string(data) != "{}" {
		t.Fatalf("%q, %v", data, err)
	}
	if _, err := d.PutIfMatch(t.Context(), "config.jsonc", []byte("{ }"), tag); err != nil {
		t.Error(err)
	}
}

func TestLinksPipesAndForeignNamesAreNoObjects(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	d := openDirectory(t, dir)
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, d, "real", "x")
	for _, err := range []error{
		os.Symlink(secret, filepath.Join(dir, "link")),
		os.Symlink("real", filepath.Join(dir, "inner")),
		os.Symlink(outside, filepath.Join(dir, "folder")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.WriteFile(filepath.Join(dir, "with space"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, ".hidden"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"link", "inner", "pipe"} {
		if data, _, err := d.Get(t.Context(), key); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s: %q, %v", key, data, err)
		}
	}
	for name, err := range map[string]error{
		"get":    func() error { _, _, err := d.Get(t.Context(), "folder/secret"); return err }(),
		"put":    func() error { _, err := d.Put(t.Context(), "folder/new", nil); return err }(),
		"delete": d.Delete(t.Context(), "folder/secret"),
	} {
		if !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("%s through a link that leads out: %v", name, err)
		}
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) != 1 {
		t.Errorf("outside: %v, %v", names, err)
	}
	if all, err := d.List(t.Context(), ""); err != nil || len(all) != 1 || all[0].Key != "real" {
		t.Errorf("%v, %v", all, err)
	}
}

func TestAnObjectBelowAnotherIsRefused(t *testing.T) {
	d := openDirectory(t, t.TempDir())
	put(t, d, "a", "x")
	put(t, d, "b/c", "x")
	for _, key := range []string{"a/b", "a/b/c", "b"} {
		if _, err := d.Put(t.Context(), key, nil); !errors.Is(err, storage.ErrInvalidKey) {
			t.Errorf("%s: %v", key, err)
		}
		if _, err := d.PutIfMatch(t.Context(), key, nil, ""); !errors.Is(err, storage.ErrInvalidKey) {
			t.Errorf("create %s: %v", key, err)
		}
	}
	if all, err := d.List(t.Context(), ""); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestWhatAKilledWriterLeftIsSweptAndNeverSeen(t *testing.T) {
	dir := t.TempDir()
	d := openDirectory(t, dir)
	left := filepath.Join(dir, ".berth", "temp", "HALF")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := d.List(t.Context(), ""); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	// While another has it open, it may be that one's.
	second := openDirectory(t, dir)
	if _, err := os.Stat(left); err != nil {
		t.Error(err)
	}
	if err := errors.Join(d.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	openDirectory(t, dir)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was left is there: %v", err)
	}
}

func TestAFailedWriteLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	d := openDirectory(t, dir)
	put(t, d, "k", "x")
	_, _ = d.PutStream(t.Context(), "k", strings.NewReader("short"), 10)
	_, _ = d.PutIfMatch(t.Context(), "k", []byte("y"), "other")
	_, _ = d.PutStream(t.Context(), "k/below", bytes.NewReader(nil), 0)
	if names, err := os.ReadDir(filepath.Join(dir, ".berth", "temp")); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
}
