//go:build unix

package storage

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockPoll is how often a lock that another process holds is asked for.
const lockPoll = 2 * time.Millisecond

// openFlags keep an open from following a link or waiting for a pipe's writer.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// tryLock takes the lock of the file for this one alone, if it is free.
func tryLock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}

// shareLock shares the lock of the file with whoever shares it. Nobody holds it
// alone for longer than it takes to remove some files.
func shareLock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// waitLock takes the lock of the file. The system's own wait could not be given up.
func waitLock(ctx context.Context, f *os.File) error {
	for {
		if ok, err := tryLock(f); ok || err != nil {
			return err
		}
		t := time.NewTimer(lockPoll)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}

func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
