package qemu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/berth-cloud/berth/instances/infra/hostdir"
)

const (
	// consoleRoom is how much of a machine's console is kept, in bytes, a power of 2.
	consoleRoom = 256 << 10
	// commandTime bounds qemu-img, and QEMU until its monitor answers.
	commandTime = 20 * time.Second
	// maxSaid is how much of what a program says comes into an error, in bytes.
	maxSaid = 512
)

// environment is all that the programs get of one.
var environment = []string{"LC_ALL=C"}

// arguments are QEMU's. Names of files are relative to the machine's folder, as
// sockets' addresses are short; tap is the descriptor of its port, or 0.
func (p *Provider) arguments(r record, tap int) ([]string, error) {
	args := []string{
		"-name", r.InstanceID, "-uuid", r.uuid(),
		"-machine", "q35", "-accel", p.config.Accelerator, "-cpu", "max",
		"-smp", strconv.Itoa(r.Type.CPUs), "-m", strconv.Itoa(r.Type.MemoryMiB),
		"-nodefaults", "-no-user-config", "-display", "none",
		"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
		"-chardev", "socket,id=qmp,path=" + monitorFile + ",server=on,wait=off", "-mon", "chardev=qmp,mode=control",
		"-chardev", "ringbuf,id=console,size=" + strconv.Itoa(consoleRoom), "-serial", "chardev:console",
		"-device", "virtio-rng-pci",
	}
	if r.Image.Kernel != "" {
		args = append(args, "-kernel", r.Image.Kernel, "-append", r.Image.Append)
	}
	if r.Image.Initrd != "" {
		args = append(args, "-initrd", r.Image.Initrd)
	}
	if r.Image.Disk != "" {
		drive, err := drive("disk", "qcow2", diskFile, false)
		if err != nil {
			return nil, err
		}
		args = append(args, drive...)
	}
	seed, err := drive("seed", "raw", seedFile, true)
	if err != nil {
		return nil, err
	}
	args = append(args, seed...)
	if tap == 0 {
		args = append(args, "-netdev", "user,id=net")
	} else {
		args = append(args, "-netdev", "tap,id=net,fd="+strconv.Itoa(tap))
	}
	return append(args, "-device", "virtio-net-pci,netdev=net,romfile=,mac="+r.mac()), nil
}

func drive(name, format, file string, readOnly bool) ([]string, error) {
	node, err := json.Marshal(map[string]any{
		"node-name": name, "driver": format, "read-only": readOnly,
		"file": map[string]any{"driver": "file", "filename": file, "read-only": readOnly},
	})
	return []string{"-blockdev", string(node), "-device", "virtio-blk-pci,drive=" + name}, err
}

// launch starts the machine's process, which inherits its life, and lets that go here.
// It returns once the machine's monitor answers: then all that it needs is open. QEMU
// can detach itself too, but not with the sandbox in which it starts no program.
func (p *Provider) launch(ctx context.Context, root *os.Root, f hostdir.Folder, r record, life *os.File) error {
	inherit := []*os.File{life} // the descriptors of what it inherits begin at 3
	tap := 0
	if r.Network.Bridge != "" {
		port, err := openPort(r.port(), r.Network.Bridge)
		if err != nil {
			return fmt.Errorf("a port of bridge %s: %w", r.Network.Bridge, err)
		}
		defer port.Close()
		inherit, tap = append(inherit, port), 4
	}
	args, err := p.arguments(r, tap)
	if err != nil {
		return err
	}
	said, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close() // what it says later goes nowhere, which it is used to
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	c := exec.CommandContext(ctx, p.config.Detach, slices.Concat([]string{"--fork", p.config.Program}, args)...)
	c.Dir, c.ExtraFiles, c.Env, c.Stderr = f.Path, inherit, environment, theirs
	err = errors.Join(c.Run(), theirs.Close(), life.Close())
	if err == nil {
		err = ready(ctx, root, r)
	}
	if errors.Is(err, errEnded) {
		text, _ := io.ReadAll(io.LimitReader(said, maxSaid))
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(text)))
	}
	return err
}

var errEnded = errors.New("the machine's process ended before it ran")

// ready waits until the machine's monitor answers.
func ready(ctx context.Context, root *os.Root, r record) error {
	for {
		_, err := ask(ctx, root, r)
		if err == nil {
			return nil
		}
		there, err2 := lives(root)
		if err2 != nil {
			return err2
		}
		if !there {
			return errEnded
		}
		if hostdir.Pause(ctx, endEvery) != nil {
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

// makeDisk lays the machine's disk over its image's. What writes it has the machine's
// life as well: it may outlive this program, and nobody else writes or removes the
// disk before it has ended.
func (p *Provider) makeDisk(ctx context.Context, root *os.Root, f hostdir.Folder, r record, life *os.File) error {
	if made, err := hasDisk(root, r); err != nil || made {
		return err
	}
	args := []string{"create", "-q", "-f", "qcow2", "-F", r.Image.Format, "-b", r.Image.Disk, diskFile + hostdir.Unfinished}
	if r.Type.DiskMiB > 0 {
		args = append(args, strconv.Itoa(r.Type.DiskMiB)+"M")
	}
	if err := command(ctx, f.Path, life, p.config.ImageTool, args...); err != nil {
		return err
	}
	if err := root.Chmod(diskFile+hostdir.Unfinished, 0o600); err != nil {
		return err
	}
	return finish(root, diskFile)
}

// hasDisk reports whether the machine's disk is made, or it is to have none.
func hasDisk(root *os.Root, r record) (bool, error) {
	if r.Image.Disk == "" {
		return true, nil
	}
	return has(root, diskFile)
}

// command runs a program in a folder to its end. It inherits a file, and the kernel
// ends it when this program ends.
func command(ctx context.Context, dir string, inherit *os.File, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	// The kernel watches the thread that starts it and not the program.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var said bytes.Buffer
	c := exec.CommandContext(ctx, program, args...)
	c.Dir, c.Env, c.ExtraFiles = dir, environment, []*os.File{inherit}
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.Stderr = &limited{&said}
	c.WaitDelay = time.Second
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, strings.TrimSpace(said.String()))
	}
	return nil
}

// limited keeps the beginning of what is written.
type limited struct{ to *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	l.to.Write(p[:min(len(p), maxSaid-l.to.Len())])
	return len(p), nil
}
