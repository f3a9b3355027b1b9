package qemu

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

const lockEvery = 5 * time.Millisecond

var errLocked = errors.New("locked by another call")

// lock takes a folder for one call, over all processes; the folder itself is what
// is locked, so that nothing of it is left. A missing one is fs.ErrNotExist.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	for {
		unlock, err = tryLock(path)
		if !errors.Is(err, errLocked) {
			return unlock, err
		}
		if err := pause(ctx, lockEvery); err != nil {
			return nil, fmt.Errorf("%w: another call has this machine: %w", infra.ErrUnavailable, err)
		}
	}
}

func tryLock(path string) (unlock func(), err error) {
	d, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		_ = d.Close()
		return nil, errLocked
	}
	if err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// It may have been removed, and made again, while the lock was waited for.
	held, err1 := d.Stat()
	named, err2 := os.Stat(path)
	if err1 != nil || err2 != nil || !os.SameFile(held, named) {
		_ = d.Close()
		return nil, errLocked
	}
	return func() { _ = d.Close() }, nil
}

// lockNew takes the folder of a machine that may have none yet. A call that made
// nothing leaves none.
func (f folder) lockNew(ctx context.Context) (func(), error) {
	for {
		if err := os.Mkdir(f.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("%w: the machine's folder: %w", infra.ErrUnavailable, err)
		}
		unlock, err := lock(ctx, f.path)
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			continue // it was removed between
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
		}
		return func() {
			_ = os.Remove(f.path)
			unlock()
		}, nil
	}
}

// pause waits a moment, or returns ctx's error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// takeLife locks a machine's life for a process that is to inherit the file, or is
// errLocked when one has it. The lock belongs to what is opened here: it ends when
// the last process that inherited it does, however it ends.
func takeLife(root *os.Root) (*os.File, error) {
	life, err := root.OpenFile(lifeFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.FcntlFlock(life.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		err = errLocked
	}
	if err != nil {
		_ = life.Close()
		return nil, err
	}
	return life, nil
}

// lives reports whether a process of the machine is there, without taking anything.
func lives(root *os.Root) (bool, error) {
	life, err := root.OpenFile(lifeFile, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer life.Close()
	asked := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(life.Fd(), unix.F_OFD_GETLK, &asked); err != nil {
		return false, fmt.Errorf("the lock of a machine's life: %w", err)
	}
	return asked.Type != unix.F_UNLCK, nil
}
