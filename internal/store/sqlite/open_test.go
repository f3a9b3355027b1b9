package sqlite

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/store"
)

func TestFilesAreClosedToOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	s := openTest(t, dir)
	if _, err := s.InstanceID(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkModes(t, dir, databaseFile, databaseFile+"-wal", databaseFile+"-shm", lockFile)
}

func checkModes(t *testing.T, dir string, files ...string) {
	t.Helper()
	modes := map[string]fs.FileMode{dir: 0o700}
	for _, f := range files {
		modes[filepath.Join(dir, f)] = 0o600
	}
	for path, want := range modes {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

func TestOpenFilesOfAnEarlierDayAreClosed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := openTest(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{databaseFile, lockFile} {
		if err := os.Chmod(filepath.Join(dir, f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	openTest(t, dir)
	checkModes(t, dir, databaseFile, lockFile)
}

func TestDirectoryThatOthersCanWriteIsWarnedAboutAndLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s, err := Open(t.Context(), Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "chmod 0700") {
		t.Errorf("log: %s", log.String())
	}
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o777 {
		t.Errorf("the directory has mode %o", info.Mode().Perm())
	}
}

func TestDataDirectoryMayHaveAnyName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c=d&e#f%20g;ü")
	if err := openTest(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, databaseFile)); err != nil {
		t.Error(err)
	}
}

func TestLinkOutOfTheDataDirectoryIsRefused(t *testing.T) {
	for _, name := range []string{databaseFile, lockFile} {
		dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
		if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(t.Context(), Options{Dir: dir}); err == nil {
			t.Errorf("%s was followed out of the directory", name)
			_ = s.Close()
		}
		if _, err := os.Lstat(outside); err == nil {
			t.Errorf("%s: a file was made outside", name)
		}
	}
}

func TestFileOfANewerVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir)
	err := s.writer.do(t.Context(), func(x *tx) error {
		return x.do(`INSERT INTO schema_versions (version_id, is_applied) VALUES (20990101000000, 1)`)
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Fatalf("got %v", err)
	}
	// The refusal lets go of the directory.
	_, err = Open(t.Context(), Options{Dir: dir})
	if errors.Is(err, store.ErrLocked) {
		t.Error(err)
	}
}

func TestFileThatIsNoDatabaseIsRefused(t *testing.T) {
	dir := t.TempDir()
	text := bytes.Repeat([]byte("no database "), 1000)
	if err := os.WriteFile(filepath.Join(dir, databaseFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), databaseFile) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, databaseFile)); !bytes.Equal(got, text) {
		t.Error("the file was changed")
	}
}

func TestOpenStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, Options{Dir: t.TempDir()}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestConnectionsAreSetAsDurabilityNeeds(t *testing.T) {
	s := openTest(t, t.TempDir())
	want := map[string][2]string{ // of the writer and of readers
		"journal_mode":   {"wal", "wal"},
		"synchronous":    {"2", "2"},
		"foreign_keys":   {"1", "1"},
		"busy_timeout":   {"5000", "5000"},
		"query_only":     {"0", "1"},
		"cache_size":     {"-2048", "-512"},
		"trusted_schema": {"0", "0"},
	}
	for name, values := range want {
		err := s.writer.do(t.Context(), func(x *tx) error {
			return checkPragma(x.ctx, x, name, values[0])
		})
		if err := errors.Join(err, checkPragma(t.Context(), s, name, values[1])); err != nil {
			t.Error(err)
		}
	}
}

func checkPragma(ctx context.Context, q queryer, name, want string) error {
	got, _, err := one(ctx, q, scanAs[string], `PRAGMA `+name)
	if err == nil && got != want {
		return errors.New(name + " is " + got + ", want " + want)
	}
	return err
}

func TestTablesAreStrict(t *testing.T) {
	s := openTest(t, t.TempDir())
	loose, err := list(t.Context(), s, scanAs[string], `SELECT name FROM pragma_table_list
		WHERE schema = 'main' AND type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%' AND name <> 'schema_versions'`)
	if err != nil || len(loose) > 0 {
		t.Errorf("%v, %v", loose, err)
	}
}

func TestCloseLeavesOneFileOfData(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir)
	if _, err := s.InstanceID(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, databaseFile+"-wal")); err == nil {
		t.Error("the log was not written back")
	}
}
