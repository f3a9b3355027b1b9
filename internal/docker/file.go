package docker

import (
	"fmt"
	"io/fs"
	"path"
)

// File is one regular file to put into a container.
type File struct {
	Path     string      // relative to the directory it is copied into, clean, with slashes
	Mode     fs.FileMode // permission bits only; 0 means 0o644
	UID, GID int
	Data     []byte
}

// CheckFiles refuses, with ErrInvalid, what CopyInto cannot put below dir: a
// directory that is not absolute, a path that is not clean or leads out of it,
// a mode that says more than permissions, and an owner below 0.
func CheckFiles(dir string, files []File) error {
	if !path.IsAbs(dir) {
		return fmt.Errorf("%w: directory %q is not absolute", ErrInvalid, dir)
	}
	for _, f := range files {
		switch {
		case !fs.ValidPath(f.Path) || f.Path == ".":
			return fmt.Errorf("%w: file path %q: want a clean path below the directory", ErrInvalid, f.Path)
		case f.Mode&^fs.ModePerm != 0:
			return fmt.Errorf("%w: mode %v of file %q: want permissions only", ErrInvalid, f.Mode, f.Path)
		case f.UID < 0 || f.GID < 0:
			return fmt.Errorf("%w: owner %d:%d of file %q", ErrInvalid, f.UID, f.GID, f.Path)
		}
	}
	return nil
}

// Permissions is the mode with its default applied.
func (f File) Permissions() fs.FileMode {
	if f.Mode == 0 {
		return 0o644
	}
	return f.Mode.Perm()
}
