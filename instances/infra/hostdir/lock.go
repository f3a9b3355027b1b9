package hostdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/instances/infra"
)

// LockEvery is how often a lock that another has is tried again.
const LockEvery = 5 * time.Millisecond

// ErrLocked is a lock that another has.
var ErrLocked = errors.New("locked by another call")

// Lock takes a folder for one call, over all processes; the folder itself is what
// is locked, so that nothing of it is left. A missing one is fs.ErrNotExist, and the
// end of ctx is infra.ErrUnavailable.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	for {
		unlock, err = TryLock(path)
		if !errors.Is(err, ErrLocked) {
			return unlock, err
		}
		if err := Pause(ctx, LockEvery); err != nil {
			return nil, fmt.Errorf("%w: another call has this machine: %w", infra.ErrUnavailable, err)
		}
	}
}

// TryLock takes a folder as Lock does, or is ErrLocked at once.
func TryLock(path string) (unlock func(), err error) {
	d, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		_ = d.Close()
		return nil, ErrLocked
	}
	if err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// It may have been removed, and made again, while the lock was waited for.
	if !isAt(d, path) {
		_ = d.Close()
		return nil, ErrLocked
	}
	return func() { _ = d.Close() }, nil
}

// isAt reports whether an open folder is the one that has the name now.
func isAt(d *os.File, path string) bool {
	held, err1 := d.Stat()
	named, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(held, named)
}

// lockNew takes the folder of a machine that may have none yet. A call that made
// nothing leaves none.
func (f Folder) lockNew(ctx context.Context) (unlock func(), err error) {
	for {
		if err := os.Mkdir(f.Path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("%w: the machine's folder: %w", infra.ErrUnavailable, err)
		}
		unlock, err := Lock(ctx, f.Path)
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			continue // it was removed between
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
		}
		return func() {
			_ = os.Remove(f.Path)
			unlock()
		}, nil
	}
}

// Pause waits a moment, or returns ctx's error.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
