package netns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/instances/infra/hostdir"
	"github.com/berth-cloud/berth/instances/infra/netns/machine"
)

// cgroupRoot is the folder of all machines' cgroups in every hierarchy.
const cgroupRoot = "berth-machines"

// mount is a mounted file system.
type mount struct{ point, kind string }

// readMounts are those that this process sees.
func readMounts() ([]mount, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMounts(string(raw)), nil
}

func parseMounts(text string) []mount {
	var all []mount
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		fields, source := strings.Fields(before), strings.Fields(after)
		if ok && len(fields) > 4 && len(source) > 0 {
			all = append(all, mount{machine.Unescape(fields[4]), source[0]})
		}
	}
	return all
}

// removeCgroups removes a machine's cgroups, which are empty once it has ended.
func removeCgroups(ctx context.Context, providerID string) error {
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if m.kind != "cgroup" && m.kind != "cgroup2" {
			continue
		}
		root := filepath.Join(m.point, cgroupRoot)
		if err := removeTree(ctx, filepath.Join(root, providerID)); err != nil {
			return err
		}
		_ = os.Remove(root) // while other machines are in it, it stays
	}
	return nil
}

// removeTree removes a cgroup and those below it, from the bottom up. The files in
// them go by themselves.
func removeTree(ctx context.Context, top string) error {
	var dirs []string
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read the machine's cgroups: %w", err)
	}
	for _, dir := range slices.Backward(dirs) {
		if err := removeCgroup(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// removeCgroup tries for a moment: the kernel lets go of one a little after the
// last process in it has ended.
func removeCgroup(ctx context.Context, dir string) error {
	const tries, every = 20, 10 * time.Millisecond
	var err error
	for range tries {
		err = unix.Rmdir(dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			break
		}
		if err := hostdir.Pause(ctx, every); err != nil {
			return err
		}
	}
	return fmt.Errorf("remove cgroup %s: %w", dir, err)
}
