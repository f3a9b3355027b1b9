package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// keep is how long a folder stays that nobody asks for. No machine of a test is older.
const keep = 7 * 24 * time.Hour

// cached returns the folder of a name, made by make in an empty one if it is not there.
// Calls for one cache, of all processes, are made one after the other.
func cached(ctx context.Context, cache, name string, now time.Time, build func(dir string) error) (string, error) {
	unlock, err := lock(ctx, cache)
	if err != nil {
		return "", err
	}
	defer unlock()
	dir := filepath.Join(cache, name)
	if _, err := os.Stat(dir); err == nil {
		return dir, os.Chtimes(dir, now, now) // it was asked for
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := prune(cache, now); err != nil {
		return "", err
	}
	tmp := dir + ".new"
	if err := removeTree(tmp); err != nil {
		return "", err
	}
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return "", err
	}
	if err := build(tmp); err != nil {
		return "", errors.Join(err, removeTree(tmp))
	}
	return dir, os.Rename(tmp, dir)
}

func lock(ctx context.Context, cache string) (func(), error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	d, err := os.Open(cache)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = d.Close() }, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = d.Close()
			return nil, fmt.Errorf("another process makes a guest: %w", ctx.Err())
		}
	}
}

// prune removes what nobody has asked for in a long time.
func prune(cache string, now time.Time) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		if now.Sub(info.ModTime()) > keep {
			if err := removeTree(filepath.Join(cache, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeTree removes a folder, unless something is mounted in it: that may be the host's.
func removeTree(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 4 && (f[4] == real || strings.HasPrefix(f[4], real+"/")) {
			return fmt.Errorf("%s is mounted; unmount it, and then remove %s", f[4], dir)
		}
	}
	return os.RemoveAll(dir)
}
