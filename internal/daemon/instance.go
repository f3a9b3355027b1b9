package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/internal/store"
)

const (
	lockPatience = 3 * time.Second
	lockEvery    = 50 * time.Millisecond
)

// unlocked opens what another process may hold. One that was just killed holds it
// for a moment more, and whoever starts the next one does not know.
func unlocked[T any](ctx context.Context, open func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		v, err := open()
		if !errors.Is(err, store.ErrLocked) {
			return v, err
		}
		select {
		case <-ctx.Done():
			return v, err
		case <-time.After(lockEvery):
		}
	}
}

// claimInstance keeps an instance to one daemon until it is closed, or the process
// ends. The lock of a data directory does not know its copies; a daemon on a copy
// has the same instance, and would take what the other one makes for leftovers of
// its own. The name is in no file system, so nothing is left of it.
func claimInstance(ctx context.Context, instance, dataDir string) (io.Closer, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", "@berthd-instance-"+instance)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("%w: another berthd runs on a copy of %s, or this is the copy: both are instance %s; stop the other one, and start one of the two only",
			store.ErrLocked, dataDir, instance)
	}
	if err != nil {
		return nil, fmt.Errorf("claim instance %s: %w", instance, err)
	}
	return l, nil
}
