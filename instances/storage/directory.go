package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

const (
	// ownDir is where a Directory keeps what is no object; no key begins with a dot.
	ownDir   = ".berth"
	tempDir  = ownDir + "/temp"
	lockName = ownDir + "/lock"
	usedName = ownDir + "/used"

	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// Directory is a Storage in a directory of this machine: an object is a file of
// its key's name, with mode 0600, so that a person can read and place them. Any
// number of processes of one machine may use it at once; over a network file
// system, only where flock holds there. A tag is the hash of the content, which
// is read for it.
//
// Unlike a bucket it cannot hold an object under a key and another one below it
// ("a" and "a/b"): the second is ErrInvalidKey.
type Directory struct {
	path string
	root *os.Root
	lock *fileLock
	used *os.File // locked, shared, while this is open
}

var _ Storage = (*Directory)(nil)

// OpenDirectory opens the objects in a directory, which must be there: one that
// is missing, as before its disk is mounted, is ErrUnavailable and not empty. What
// a killed process left half-written goes when nobody else has the directory open.
// The caller ends it with Close.
func OpenDirectory(dir string) (*Directory, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the object directory: %w: %w", ErrUnavailable, err)
	}
	d := &Directory{path: dir, root: root}
	if err := d.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("open the object directory %s: %w: %w", dir, ErrUnavailable, err), d.Close())
	}
	return d, nil
}

func (d *Directory) prepare() error {
	if err := d.mkdir(tempDir); err != nil {
		return err
	}
	lock, err := d.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	d.lock = newFileLock(lock)
	if d.used, err = d.root.OpenFile(usedName, os.O_RDWR|os.O_CREATE, fileMode); err != nil {
		return err
	}
	alone, err := tryLock(d.used)
	if err != nil {
		return err
	}
	if alone {
		if err := d.sweep(); err != nil {
			return err
		}
	}
	// Between the two locks somebody else may sweep; nothing is written here yet.
	return shareLock(d.used)
}

// sweep removes what writers that are no more left.
func (d *Directory) sweep() error {
	names, err := d.names(tempDir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := d.root.Remove(path.Join(tempDir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Close frees the directory. Operations after it are ErrUnavailable.
func (d *Directory) Close() error {
	var errs []error
	if d.lock != nil {
		errs = append(errs, d.lock.file.Close())
	}
	if d.used != nil {
		errs = append(errs, d.used.Close())
	}
	if err := errors.Join(append(errs, d.root.Close())...); err != nil {
		return fmt.Errorf("close the object directory: %w", err)
	}
	return nil
}

// Get implements Storage.
func (d *Directory) Get(ctx context.Context, key string) ([]byte, string, error) {
	f, _, err := d.open(ctx, "get", key)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	data, err := readBounded(f)
	if errors.Is(err, ErrTooLarge) {
		return nil, "", failed("get", key, err)
	}
	if err != nil {
		return nil, "", unavailable("get", key, err)
	}
	return data, tagOf(data), nil
}

// Exists implements Storage.
func (d *Directory) Exists(ctx context.Context, key string) (bool, error) {
	if err := begin(ctx, "look for", key); err != nil {
		return false, err
	}
	info, err := d.root.Lstat(key)
	if err == nil && info.Mode().IsRegular() {
		return true, nil
	}
	if err = d.absence("look for", key, err); errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return false, err
}

// GetMetadata implements Storage.
func (d *Directory) GetMetadata(ctx context.Context, key string) (Metadata, error) {
	f, m, err := d.open(ctx, "describe", key)
	if err != nil {
		return Metadata{}, err
	}
	defer f.Close()
	if m.Tag, err = tagOfFile(ctx, f); err != nil {
		return Metadata{}, d.readError(ctx, "describe", key, err)
	}
	return m, nil
}

// GetStream implements Storage. A file is never changed, only replaced: what is
// open stays as it was described.
func (d *Directory) GetStream(ctx context.Context, key string) (io.ReadCloser, Metadata, error) {
	f, m, err := d.open(ctx, "open", key)
	if err != nil {
		return nil, Metadata{}, err
	}
	if m.Tag, err = tagOfFile(ctx, f); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, Metadata{}, errors.Join(d.readError(ctx, "open", key, err), f.Close())
	}
	return &stream{ctx: ctx, r: f, close: f.Close}, m, nil
}

// open opens an object; its tag is not known yet.
func (d *Directory) open(ctx context.Context, op, key string) (*os.File, Metadata, error) {
	if err := begin(ctx, op, key); err != nil {
		return nil, Metadata{}, err
	}
	// Neither a link nor a pipe, which could be waited for, is an object.
	if info, err := d.root.Lstat(key); err != nil || !info.Mode().IsRegular() {
		return nil, Metadata{}, d.absence(op, key, err)
	}
	f, err := d.root.OpenFile(key, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, Metadata{}, d.absence(op, key, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = failed(op, key, ErrNotFound)
	} else if err != nil {
		err = unavailable(op, key, err)
	}
	if err != nil {
		return nil, Metadata{}, errors.Join(err, f.Close())
	}
	return f, Metadata{Key: key, Size: info.Size(), Modified: info.ModTime().UTC()}, nil
}

// absence tells an object that is not there (err is nil for what is no object)
// from a directory that is not, or fails.
func (d *Directory) absence(op, key string, err error) error {
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return unavailable(op, key, err)
	}
	if err := d.present(); err != nil {
		return unavailable(op, key, err)
	}
	return failed(op, key, ErrNotFound)
}

// present makes sure that the directory is still the one that was opened: one
// that was emptied or removed as a whole says nothing about its objects.
func (d *Directory) present() error {
	if _, err := d.root.Lstat(lockName); err != nil {
		return fmt.Errorf("the object directory %s is gone: %w", d.path, err)
	}
	return nil
}

func (d *Directory) readError(ctx context.Context, op, key string, err error) error {
	if ctx.Err() != nil {
		return failed(op, key, ctx.Err())
	}
	return unavailable(op, key, err)
}
