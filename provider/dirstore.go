package provider

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// DirStore is a StateStore in a directory, for one or more processes on one
// machine. Every record is a file under records/; a write is a new file under
// tmp/ that is synced and then moved, and a lock file lets one writer at a time
// compare and swap. Directories are 0700 and files 0600.
type DirStore struct {
	root *os.Root

	// turn is held by the goroutine of this process that may try for the lock
	// file.
	turn chan struct{}
}

var _ StateStore = (*DirStore)(nil)

const (
	recordsDir = "records"
	tmpDir     = "tmp"
	lockFile   = "lock"

	// recordSuffix keeps the file of key "a" apart from the directory of key
	// "a/b"; no part of a key has an @.
	recordSuffix = "@"

	dirMode  = 0o700
	fileMode = 0o600
)

// NewDirStore opens the store in dir and creates what is missing. What writes
// left behind that a crash interrupted is removed.
func NewDirStore(dir string) (*DirStore, error) {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	s := &DirStore{root: root, turn: make(chan struct{}, 1)}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("state directory %s: %w", dir, err), root.Close())
	}
	return s, nil
}

func (s *DirStore) prepare() error {
	for _, name := range []string{recordsDir, tmpDir} {
		if err := s.root.MkdirAll(name, dirMode); err != nil {
			return err
		}
	}
	if err := syncDir(s.root, "."); err != nil {
		return err
	}
	unlock, err := s.lock(context.Background()) // other processes hold it for one write
	if err != nil {
		return err
	}
	defer unlock()
	left, err := fs.ReadDir(s.root.FS(), tmpDir)
	if err != nil {
		return err
	}
	for _, entry := range left {
		if err := s.root.Remove(path.Join(tmpDir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Close lets go of the directory. No other method may be called after it.
func (s *DirStore) Close() error { return s.root.Close() }

// Get implements StateStore. It takes no lock: a record's file is whole at any
// time.
func (s *DirStore) Get(ctx context.Context, key string) (Record, error) {
	if err := CheckKey(key); err != nil {
		return Record{}, err
	}
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	return s.read(key)
}

func (s *DirStore) read(key string) (Record, error) {
	f, err := s.root.Open(recordPath(key))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, fmt.Errorf("%w: record %q", ErrNotFound, key)
	}
	if err != nil {
		return Record{}, fmt.Errorf("record %q: %w", key, err)
	}
	defer f.Close()
	rec, err := decodeRecord(f)
	if err != nil {
		return Record{}, fmt.Errorf("record %q: %w", key, err)
	}
	return rec, nil
}

// Put implements StateStore.
func (s *DirStore) Put(ctx context.Context, key string, value []byte, prior Version) (Version, error) {
	if err := errors.Join(CheckKey(key), CheckValue(value)); err != nil {
		return "", err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	switch err := s.expect(key, prior); {
	case errors.Is(err, ErrNotFound) && prior == "": // nothing is there, as wanted
	case errors.Is(err, ErrNotFound):
		return "", fmt.Errorf("%w: record %q is gone", ErrConflict, key)
	case err != nil:
		return "", err
	}
	return s.write(key, value, prior == "")
}

// Delete implements StateStore.
func (s *DirStore) Delete(ctx context.Context, key string, prior Version) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.expect(key, prior); err != nil {
		return err
	}
	name := recordPath(key)
	if err := s.root.Remove(name); err != nil {
		return fmt.Errorf("delete record %q: %w", key, err)
	}
	return s.removeEmpty(path.Dir(name))
}

// expect compares the present version of a record. No record is ErrNotFound,
// also when that was expected.
func (s *DirStore) expect(key string, prior Version) error {
	present, err := s.read(key)
	if err != nil {
		return err
	}
	if present.Version != prior {
		return fmt.Errorf("%w: record %q is of version %s, not %q", ErrConflict, key, present.Version, string(prior))
	}
	return nil
}

// removeEmpty removes dir and what is above it as far as that is empty, so that
// an instance that is gone leaves nothing, and makes the removal durable.
func (s *DirStore) removeEmpty(dir string) error {
	for ; dir != recordsDir; dir = path.Dir(dir) {
		if s.root.Remove(dir) != nil { // another record is in it
			break
		}
	}
	return syncDir(s.root, dir)
}

// List implements StateStore.
func (s *DirStore) List(ctx context.Context, prefix string) ([]string, error) {
	if err := CheckPrefix(prefix); err != nil {
		return nil, err
	}
	keys := []string{}
	err := fs.WalkDir(s.root.FS(), path.Join(recordsDir, prefix), func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went meanwhile, or there is nothing under the prefix
		}
		if err != nil {
			return err
		}
		if key, ok := recordKey(name); ok && !entry.IsDir() {
			keys = append(keys, key)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("list records under %q: %w", prefix, err)
	}
	slices.Sort(keys)
	return keys, nil
}

func recordPath(key string) string { return path.Join(recordsDir, key) + recordSuffix }

func recordKey(name string) (string, bool) {
	key, ok := strings.CutSuffix(strings.TrimPrefix(name, recordsDir+"/"), recordSuffix)
	return key, ok && CheckKey(key) == nil
}
