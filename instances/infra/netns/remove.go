package netns

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

	"github.com/berth-cloud/berth/instances/infra/hostdir"
	"github.com/berth-cloud/berth/instances/infra/netns/machine"
)

const (
	// patience is how long a delete waits for the machine to end by itself.
	patience    = 2 * time.Second
	signalEvery = 100 * time.Millisecond
	// killWait is how long the end is waited for after SIGKILL.
	killWait = time.Second
)

// remove ends a machine that is to go, and takes away what it is made of, as far
// as that goes by now. Its folder is locked. It reports gone only once nothing is
// left; then the folder is not there any more.
func (p *Provider) remove(ctx context.Context, f hostdir.Folder, r record, wait time.Duration) (gone bool, err error) {
	root, err := os.OpenRoot(f.Path)
	if err != nil {
		return false, err
	}
	defer root.Close()
	if err := p.host.Before("end"); err != nil {
		return false, err
	}
	if ended, err := p.end(ctx, root, r, wait); err != nil || !ended {
		return false, err
	}
	// From here on nothing can start it: a launcher that a call left has no lock.
	life, err := lockLife(root)
	if errors.Is(err, hostdir.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer life.Close()
	if ended, err := p.end(ctx, root, r, 0); err != nil || !ended {
		return false, err
	}
	steps := append(r.disconnect(ctx),
		hostdir.Do("cgroups", func() error { return removeCgroups(ctx, r.ProviderID) }),
		hostdir.Do("contents", func() error { return p.clear(ctx, f, root) }),
		hostdir.Do("record", func() error { return p.host.Forget(f, root) }),
	)
	if err := p.host.Take(steps...); err != nil {
		return false, err
	}
	p.host.Logger.InfoContext(ctx, "machine removed", "instance", r.InstanceID, "machine", r.ProviderID)
	return true, nil
}

// end asks the machine's first process to end, kills it when its time is over, and
// reports whether it has ended, and with it all that ran in the machine.
func (p *Provider) end(ctx context.Context, root *os.Root, r record, wait time.Duration) (bool, error) {
	process, err := machine.ReadProcess(root)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // none was let go on
	}
	if err != nil {
		return false, err
	}
	h, err := process.Open()
	if err != nil || h == nil {
		return err == nil, err
	}
	defer h.Close()
	sig := unix.SIGTERM
	// The agent, the containers and the engine end one after the other.
	if p.host.Now().Sub(r.DeletedAt) > 2*p.config.StopGrace+3*time.Second {
		sig, wait = unix.SIGKILL, killWait
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		// Again and again: one that has only just begun hears nothing yet.
		if err := h.Signal(sig); err != nil {
			return false, err
		}
		once, done := context.WithTimeout(waiting, signalEvery)
		err := h.Wait(once)
		done()
		if err == nil || waiting.Err() != nil {
			return h.Ended(), nil
		}
	}
}

// clear removes what is in the folder but the record and the lock.
func (p *Provider) clear(ctx context.Context, f hostdir.Folder, root *os.Root) error {
	if err := checkNoMounts(f); err != nil {
		return err
	}
	return p.host.Clear(ctx, root, root.RemoveAll)
}

// checkNoMounts refuses to go through what somebody has mounted in the folder.
func checkNoMounts(f hostdir.Folder) error {
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if m.point == real || strings.HasPrefix(m.point, real+"/") {
			return fmt.Errorf("something is mounted at %s; unmount it first", m.point)
		}
	}
	return nil
}
