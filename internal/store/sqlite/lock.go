package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/internal/store"
)

// dirLock is the exclusive hold of a data directory. The kernel ends it with
// the process, so a killed daemon leaves nothing to clean up; what the file
// says is only for the message to a second daemon.
type dirLock struct{ file *os.File }

// holder is what the lock file says of the process that holds the lock.
type holder struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// maxHolderBytes bounds what is read from a lock file.
const maxHolderBytes = 4096

func lockDir(root *os.Root, dir string, pid int, now time.Time) (*dirLock, error) {
	f, err := root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, fmt.Errorf("open the lock of %s: %w", dir, err)
	}
	if err := claim(f, dir, pid, now); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &dirLock{f}, nil
}

func claim(f *os.File, dir string, pid int, now time.Time) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return lockedError(f, dir)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	if err := closeMode(f, lockFile); err != nil {
		return err
	}
	text, err := json.Marshal(holder{pid, now.UTC().Truncate(time.Second)})
	if err != nil {
		return fmt.Errorf("write the lock of %s: %w", dir, err)
	}
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("write the lock of %s: %w", dir, err)
	}
	if _, err := f.WriteAt(append(text, '\n'), 0); err != nil {
		return fmt.Errorf("write the lock of %s: %w", dir, err)
	}
	return nil
}

// lockedError names the holder. The holder may be between taking the lock and
// writing its name; then the message does without.
func lockedError(f *os.File, dir string) error {
	var h holder
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxHolderBytes))
	if err != nil || json.Unmarshal(text, &h) != nil || h.PID == 0 {
		return fmt.Errorf("%w: %s belongs to another running process; stop it, or use another data directory",
			store.ErrLocked, dir)
	}
	return fmt.Errorf("%w: %s belongs to the running process %d since %s; stop it (kill %d), or use another data directory",
		store.ErrLocked, dir, h.PID, h.Since.Format(time.RFC3339), h.PID)
}

// release ends the hold. The file stays: removing it would let two processes
// lock two files of the same name.
func (l *dirLock) release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("release the data directory: %w", err)
	}
	return nil
}
