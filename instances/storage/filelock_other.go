//go:build !unix

package storage

import (
	"context"
	"os"
)

const openFlags = 0

// Without the locks of a Unix, one process at a time may use a Directory.

func tryLock(*os.File) (bool, error) { return true, nil }

func shareLock(*os.File) error { return nil }

func waitLock(ctx context.Context, _ *os.File) error { return ctx.Err() }

func unlock(*os.File) error { return nil }
