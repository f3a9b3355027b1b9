package qemu

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/berth-cloud/berth/instances/infra/hostdir"
)

const (
	// patience is how long a delete waits for the machine to end.
	patience = 2 * time.Second
	// quitTime is how long QEMU may take to end itself once it is told to.
	quitTime = 3 * time.Second
	// killWait is how long the end is waited for after SIGKILL.
	killWait = time.Second
	endEvery = 10 * time.Millisecond
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
	if ended, err := p.end(ctx, root, r, wait); err != nil || !ended {
		return false, err
	}
	// A launcher that was killed may have left a process that only now begins; while
	// this one has the life, none can.
	life, err := takeLife(root)
	if errors.Is(err, hostdir.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer life.Close()
	err = p.host.Take(
		hostdir.Do("contents", func() error { return p.clear(ctx, root) }),
		hostdir.Do("record", func() error { return p.host.Forget(f, root) }),
	)
	if err != nil {
		return false, err
	}
	p.host.Logger.InfoContext(ctx, "machine removed", "instance", r.InstanceID, "machine", r.ProviderID)
	return true, nil
}

// end presses the power button, tells QEMU to end when the time for that is over,
// and kills it when that time is over too. It reports whether the process has ended.
func (p *Provider) end(ctx context.Context, root *os.Root, r record, wait time.Duration) (bool, error) {
	until := time.Now().Add(wait)
	for last := ""; ; {
		there, err := lives(root)
		if err != nil || !there {
			return err == nil, err
		}
		if how := p.ending(r); how != last {
			if err := p.host.Take(hostdir.Do(how, func() error { return p.endBy(ctx, how, root, r) })); err != nil {
				return false, err
			}
			if last = how; how == endKill {
				until = time.Now().Add(killWait)
			}
		} else if time.Now().After(until) {
			return false, nil
		}
		if err := hostdir.Pause(ctx, endEvery); err != nil {
			return false, err
		}
	}
}

// The ways to end a machine; the first two are commands of its monitor.
const (
	endButton = "system_powerdown"
	endQuit   = "quit"
	endKill   = "kill"
)

// ending is how a machine is to end by now.
func (p *Provider) ending(r record) string {
	since := p.host.Now().Sub(r.DeletedAt)
	switch {
	case since >= 0 && since < p.config.StopGrace:
		return endButton
	case since >= 0 && since < p.config.StopGrace+quitTime:
		return endQuit
	}
	return endKill // also when the clock was set back: nobody waits for it to come again
}

func (p *Provider) endBy(ctx context.Context, how string, root *os.Root, r record) error {
	if how == endKill {
		return kill(root)
	}
	m, err := openMonitor(ctx, root, r.uuid())
	if err == nil {
		defer m.close()
		err = m.do(how, nil, nil)
	}
	if err != nil { // what comes next does not need the monitor
		p.host.Logger.InfoContext(ctx, "a machine's monitor does not hear", "machine", r.ProviderID, "command", how, "error", err)
	}
	return nil
}

// clear removes what is in the folder but the record and the lock.
func (p *Provider) clear(ctx context.Context, root *os.Root) error {
	return p.host.Clear(ctx, root, func(name string) error {
		// Not RemoveAll: a machine has no folders, and what it has not is not ours.
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}
