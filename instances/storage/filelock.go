package storage

import (
	"context"
	"os"
)

// fileLock lets one writer at a time of all processes through.
type fileLock struct {
	turn chan struct{} // within this process
	file *os.File      // among processes
}

func newFileLock(f *os.File) *fileLock {
	return &fileLock{turn: make(chan struct{}, 1), file: f}
}

// with runs fn alone. The end of ctx ends the wait.
func (l *fileLock) with(ctx context.Context, fn func() error) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := waitLock(ctx, l.file); err != nil {
		return err
	}
	// A lock that cannot be freed ends with the file.
	defer func() { _ = unlock(l.file) }()
	if err := ctx.Err(); err != nil {
		return err
	}
	return fn()
}
