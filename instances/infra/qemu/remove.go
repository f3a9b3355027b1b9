package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
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

// DeleteInstance implements infra.Provider. The provider's id is not needed.
func (p *Provider) DeleteInstance(ctx context.Context, instanceID, _ string) error {
	f, err := p.find(ctx, instanceID)
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, f.path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := f.read() // and whether that is an answer
		return ignoreMissing(err)
	}
	if err != nil {
		return err
	}
	defer unlock()
	r, err := f.read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.clearUnused()
		return nil
	case err != nil:
		return err
	case !p.owns(r, instanceID):
		return nil
	}
	if err := p.mark(f, &r); err != nil {
		return fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	if _, err := p.remove(ctx, f, r, patience); err != nil {
		return fmt.Errorf("%w: delete machine %s: %w", infra.ErrAmbiguous, r.ProviderID, err)
	}
	return nil
}

// mark writes down that a machine is to go.
func (p *Provider) mark(f folder, r *record) error {
	if !r.DeletedAt.IsZero() {
		return nil
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return err
	}
	defer root.Close()
	r.DeletedAt = p.now().UTC().Round(0)
	return p.take([]step{{"mark", func() error { return r.write(root) }}})
}

// goOn takes a removal further, unless another call does.
func (p *Provider) goOn(ctx context.Context, f folder, instanceID string) (gone bool, err error) {
	unlock, err := tryLock(f.path)
	switch {
	case errors.Is(err, errLocked):
		return false, nil
	case err != nil:
		return false, ignoreMissing(err)
	}
	defer unlock()
	r, err := f.read()
	if err != nil || !p.owns(r, instanceID) || r.DeletedAt.IsZero() {
		return errors.Is(err, fs.ErrNotExist), ignoreMissing(err)
	}
	return p.remove(ctx, f, r, 0)
}

// remove ends a machine that is to go, and takes away what it is made of, as far
// as that goes by now. Its folder is locked. It reports gone only once nothing is
// left; then the folder is not there any more.
func (p *Provider) remove(ctx context.Context, f folder, r record, wait time.Duration) (gone bool, err error) {
	root, err := os.OpenRoot(f.path)
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
	if errors.Is(err, errLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer life.Close()
	err = p.take([]step{
		{"contents", func() error { return f.clear(ctx, root) }},
		{"record", func() error { return f.forget(root) }},
	})
	if err != nil {
		return false, err
	}
	p.logger.InfoContext(ctx, "machine removed", "instance", r.InstanceID, "machine", r.ProviderID)
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
			if err := p.take([]step{{how, func() error { return p.endBy(ctx, how, root, r) }}}); err != nil {
				return false, err
			}
			if last = how; how == endKill {
				until = time.Now().Add(killWait)
			}
		} else if time.Now().After(until) {
			return false, nil
		}
		if err := pause(ctx, endEvery); err != nil {
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
	since := p.now().Sub(r.DeletedAt)
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
		p.logger.InfoContext(ctx, "a machine's monitor does not hear", "machine", r.ProviderID, "command", how, "error", err)
	}
	return nil
}

// clear removes what is in the folder but the record and the lock.
func (f folder) clear(ctx context.Context, root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == recordFile || name == lifeFile {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		// Not RemoveAll: a machine has no folders, and what it has not is not ours.
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// forget removes the record, and with it the machine.
func (f folder) forget(root *os.Root) error {
	for _, name := range []string{lifeFile, recordFile} {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return ignoreMissing(os.Remove(f.path))
}

// clearUnused removes a folder without a record, in which nothing was made yet. Of
// what is not ours it removes nothing.
func (f folder) clearUnused() {
	_ = os.Remove(filepath.Join(f.path, recordFile+unfinished))
	_ = os.Remove(f.path)
}
