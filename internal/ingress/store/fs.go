package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// FS is one directory, as far as the store needs it. Names have no slashes.
type FS interface {
	// Create makes or empties a file, mode 0600.
	Create(name string) (File, error)
	// Rename replaces new by old in one step.
	Rename(oldName, newName string) error
	// SyncDir makes creations and renames so far survive a power failure.
	SyncDir() error
	// ReadFile answers fs.ErrNotExist for a file that is not there, and fails
	// for one larger than maxFileBytes.
	ReadFile(name string) ([]byte, error)
}

// File is a file being written.
type File interface {
	io.WriteCloser
	Sync() error
}

// maxFileBytes bounds what is read back: the largest valid table is far below.
const maxFileBytes = 256 << 20

// rootFS is a directory of the machine; no name can lead out of it.
type rootFS struct{ root *os.Root }

var _ FS = (*rootFS)(nil)

// OpenDir opens dir, creating it (0700) when it is missing. Its parent must exist.
func OpenDir(dir string) (FS, io.Closer, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, nil, fmt.Errorf("create the table directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open the table directory: %w", err)
	}
	return &rootFS{root: root}, root, nil
}

func (r *rootFS) Create(name string) (File, error) {
	return r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

func (r *rootFS) Rename(oldName, newName string) error { return r.root.Rename(oldName, newName) }

func (r *rootFS) SyncDir() error {
	d, err := r.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (r *rootFS) ReadFile(name string) ([]byte, error) {
	f, err := r.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(b) > maxFileBytes {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxFileBytes)
	}
	return b, err
}
