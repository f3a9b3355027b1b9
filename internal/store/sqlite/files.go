package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
)

const (
	databaseFile = "berth.db"
	lockFile     = "berthd.lock"

	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// openDir opens the data directory, which it creates when missing. The mode of
// a directory that exists is left alone, since it may be more than ours: what
// we put into it is closed to others by its own mode.
func openDir(dir string, log *slog.Logger) (*os.Root, error) {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the data directory: %w", err)
	}
	if info, err := root.Stat("."); err == nil && info.Mode().Perm()&0o022 != 0 {
		log.Warn("the data directory can be written by others; chmod 0700 closes it",
			slog.String("dir", dir), slog.String("mode", info.Mode().Perm().String()))
	}
	return root, nil
}

// prepareFile makes sure that the file exists with mode 0600. SQLite gives the
// log and the shared memory file beside the database the mode of the database.
func prepareFile(root *os.Root, name string) error {
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	return errors.Join(closeMode(f, name), f.Close())
}

// closeMode takes the rights of others from a file that has them.
func closeMode(f *os.File, name string) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", name, err)
	}
	if info.Mode().Perm()&^fileMode == 0 {
		return nil
	}
	if err := f.Chmod(fileMode); err != nil {
		return fmt.Errorf("close %s to others: %w", name, err)
	}
	return nil
}

// joinClose says what failed while closing, or nothing.
func joinClose(errs []error) error {
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the store: %w", err)
	}
	return nil
}
