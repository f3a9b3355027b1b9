package guest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Guest is what a machine boots: an ext4 disk, and a kernel that finds its root there.
type Guest struct {
	Disk, Kernel, Initrd string // paths
	Append               string // the kernel's command line
}

// Options are what a guest is made of.
type Options struct {
	Cache string // a folder
	// Agent is berth-node, a static program, and Unit what runs it.
	Agent, Unit []byte
	// Say is told what takes long.
	Say func(string)
	Now time.Time
}

// programs are those that make a guest, and the Debian packages that have them.
var programs = map[string]string{"mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs", "debugfs": "e2fsprogs", "cp": "coreutils"}

// Check says why no guest can be made here.
func Check() error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("the guest is one for amd64, not for %s", runtime.GOARCH)
	}
	if os.Geteuid() != 0 {
		return errors.New("making a guest needs root")
	}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		if _, err := find(name); err != nil {
			return fmt.Errorf("%s is missing; install it: apt-get install %s", name, programs[name])
		}
	}
	return nil
}

// find looks where Debian puts the system's programs too.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return exec.LookPath("/usr/sbin/" + name)
	}
	return path, nil
}

// Build makes the guest, or finds it in the cache.
func Build(ctx context.Context, o Options) (Guest, error) {
	if err := Check(); err != nil {
		return Guest{}, err
	}
	r := debian(string(o.Unit))
	system, err := cached(ctx, o.Cache, "system-"+r.hash(), o.Now, func(dir string) error {
		o.Say("making a Debian " + r.Suite + ", which takes a minute or two")
		return r.make(ctx, dir)
	})
	if err != nil {
		return Guest{}, fmt.Errorf("make the guest's system: %w", err)
	}
	sum := sha256.Sum256(o.Agent)
	name := "guest-" + r.hash() + "-" + hex.EncodeToString(sum[:8])
	dir, err := cached(ctx, o.Cache, name, o.Now, func(dir string) error {
		o.Say("putting the agent into the guest")
		return addAgent(ctx, system, dir, o.Agent)
	})
	if err != nil {
		return Guest{}, fmt.Errorf("put the agent into the guest: %w", err)
	}
	return Guest{
		Disk: filepath.Join(dir, diskFile), Kernel: filepath.Join(system, kernelFile),
		Initrd: filepath.Join(system, initrdFile), Append: r.Append,
	}, nil
}

// The files of a cached folder.
const (
	diskFile   = "disk.raw"
	kernelFile = "vmlinuz"
	initrdFile = "initrd.img"
)

// make makes the system in an empty folder.
func (r recipe) make(ctx context.Context, dir string) error {
	root := filepath.Join(dir, "root")
	args := []string{"--mode=root", "--variant=minbase", "--format=directory", "--include=" + strings.Join(r.Packages, ",")}
	for _, path := range r.Leave {
		args = append(args, "--dpkgopt=path-exclude="+path)
	}
	if err := run(ctx, "mmdebstrap", append(args, r.Suite, root)...); err != nil {
		return err
	}
	if err := r.furnish(root); err != nil {
		return err
	}
	for name, pattern := range map[string]string{kernelFile: "vmlinuz-*", initrdFile: "initrd.img-*"} {
		found, err := filepath.Glob(filepath.Join(root, "boot", pattern))
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("the system has %d files %s", len(found), pattern)
		}
		if err == nil {
			err = os.Rename(found[0], filepath.Join(dir, name))
		}
		if err != nil {
			return err
		}
	}
	disk := filepath.Join(dir, diskFile)
	if err := run(ctx, "mke2fs", "-q", "-t", "ext4", "-L", "machine", "-d", root, disk, fmt.Sprintf("%dM", r.DiskMiB)); err != nil {
		return err
	}
	return removeTree(root)
}

// furnish puts the recipe's own files and links into a system.
func (r recipe) furnish(path string) error {
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer root.Close()
	for name, text := range r.Files {
		if err := root.MkdirAll(filepath.Dir(name[1:]), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(name[1:], []byte(text), 0o644); err != nil {
			return err
		}
	}
	for name, target := range r.Links {
		if err := root.MkdirAll(filepath.Dir(name[1:]), 0o755); err != nil {
			return err
		}
		_ = root.Remove(name[1:])
		if err := root.Symlink(target, name[1:]); err != nil {
			return err
		}
	}
	return nil
}

// agentPath is where the agent's unit looks for it.
const agentPath = "/usr/local/bin/berth-node"

// addAgent copies a system's disk and writes the agent into the copy.
func addAgent(ctx context.Context, system, dir string, agent []byte) error {
	disk, program := filepath.Join(dir, diskFile), filepath.Join(dir, "berth-node")
	if err := os.WriteFile(program, agent, 0o600); err != nil {
		return err
	}
	if err := run(ctx, "cp", "--sparse=always", "--reflink=auto", filepath.Join(system, diskFile), disk); err != nil {
		return err
	}
	orders := filepath.Join(dir, "orders")
	text := fmt.Sprintf("cd %s\nwrite %q %s\nset_inode_field %s mode 0100755\n",
		filepath.Dir(agentPath), program, filepath.Base(agentPath), filepath.Base(agentPath))
	if err := os.WriteFile(orders, []byte(text), 0o600); err != nil {
		return err
	}
	if err := run(ctx, "debugfs", "-w", "-f", orders, disk); err != nil {
		return err
	}
	// It tells of no failure by its exit code.
	back := filepath.Join(dir, "back")
	if err := run(ctx, "debugfs", "-R", "dump "+agentPath+" "+back, disk); err != nil {
		return err
	}
	got, err := os.ReadFile(back)
	if err == nil && !bytes.Equal(got, agent) {
		err = errors.New("debugfs wrote something else than the agent")
	}
	return errors.Join(err, os.Remove(back), os.Remove(program), os.Remove(orders))
}

// run runs a program to its end; what it says is in the error.
func run(ctx context.Context, name string, args ...string) error {
	path, err := find(name)
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, path, args...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // it cleans up
	c.WaitDelay = 10 * time.Second
	said, err := c.CombinedOutput()
	if err != nil {
		const last = 2000
		return fmt.Errorf("%s: %w\n%s", name, err, said[max(0, len(said)-last):])
	}
	return nil
}
