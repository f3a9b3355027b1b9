package hostdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/berth-cloud/berth/instances/infra"
)

// Folder is where a machine is, or would be.
type Folder struct{ Path string }

// open is the folder for reading. None is fs.ErrNotExist, which is an answer only
// while the folder above is there.
func (f Folder) open() (*os.Root, error) {
	root, err := os.OpenRoot(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, above := os.Stat(filepath.Dir(f.Path)); above != nil {
			return nil, fmt.Errorf("%w: the folder of the machines is not there", infra.ErrUnavailable)
		}
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	return root, nil
}

// Clear removes what is in a machine's folder but the record and the file of its life,
// each by its name.
func (m *Machines[T, P]) Clear(ctx context.Context, root *os.Root, remove func(name string) error) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == RecordFile || name == m.maker.LifeFile {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := remove(name); err != nil {
			return err
		}
	}
	return nil
}

// Forget removes the record, and with it the machine. The record is the last of
// what is in the folder.
func (m *Machines[T, P]) Forget(f Folder, root *os.Root) error {
	for _, name := range []string{m.maker.LifeFile, RecordFile} {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return ignoreMissing(os.Remove(f.Path))
}

// clearUnused removes a folder without a record, in which nothing was made yet. Of
// what is not ours it removes nothing.
func (f Folder) clearUnused() {
	_ = os.Remove(filepath.Join(f.Path, RecordFile+Unfinished))
	_ = os.Remove(f.Path)
}

// Sync makes the names in the folder of the owner's machines last.
func (m *Machines[T, P]) Sync() error {
	d, err := os.Open(m.Home)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
