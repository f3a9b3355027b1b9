package dockerprovider

import (
	"cmp"
	"context"
	"fmt"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

// stopPasses bounds the passes of a Stop: traffic off, main, what is beside it,
// and the note that it is done, for what two releases left.
const stopPasses = 12

// Stop implements provider.Provider.
func (d *Driver) Stop(ctx context.Context, workload id.ID) error {
	release, err := d.lock(ctx, workload)
	if err != nil {
		return err
	}
	defer release()
	w, err := d.loadOrLook(ctx, workload)
	switch {
	case err != nil:
		return err
	case w == nil:
		return d.stopUnrecorded(ctx, workload)
	}
	if !w.Desired.Stopped {
		w, err = d.records.Change(ctx, workload, func(w *records.Workload) error {
			rev, pin := course(w)
			return d.desire(w, intent{rev: rev, kind: store.AttemptApply, action: actionStop, pin: pin, stopped: true}, d.now())
		})
		if err != nil {
			return failed("stop", err)
		}
	}
	return d.stopNow(ctx, w)
}

// stopNow makes passes until nothing runs.
func (d *Driver) stopNow(ctx context.Context, w *records.Workload) error {
	for range stopPasses {
		requeue, condition, err := d.pass(ctx, w)
		if err != nil {
			return failed("stop "+w.ID.String(), err)
		}
		if condition.Reason == string(application.ReasonStopped) && requeue != again {
			return d.forgetStarts(ctx, w.ID)
		}
	}
	return fmt.Errorf("%w: instance %s still has containers that run", provider.ErrUnavailable, w.ID)
}

// forgetStarts makes the next start of a container no restart.
func (d *Driver) forgetStarts(ctx context.Context, workload id.ID) error {
	list, err := d.containers(ctx, workload)
	if err != nil {
		return err
	}
	for _, c := range list {
		d.rt.forget(c.Name)
	}
	return nil
}

// Start implements provider.Provider.
func (d *Driver) Start(ctx context.Context, workload id.ID) error {
	release, err := d.lock(ctx, workload)
	if err != nil {
		return err
	}
	defer release()
	w, err := d.loadOrLook(ctx, workload)
	switch {
	case err != nil:
		return err
	case w == nil:
		return d.startUnrecorded(ctx, workload)
	}
	if w.Desired.Stopped {
		w, err = d.records.Change(ctx, workload, func(w *records.Workload) error {
			rev, pin := course(w)
			return d.desire(w, intent{rev: rev, kind: store.AttemptApply, action: actionStart, pin: pin}, d.now())
		})
		if err != nil {
			return failed("start", err)
		}
	}
	return d.begin(ctx, w)
}

// Restart implements provider.Provider: every container is replaced, as a deploy
// of the same content would; a stopped instance is started.
func (d *Driver) Restart(ctx context.Context, workload id.ID) error {
	release, err := d.lock(ctx, workload)
	if err != nil {
		return err
	}
	defer release()
	w, err := d.loadOrLook(ctx, workload)
	switch {
	case err != nil:
		return err
	case w == nil:
		if err := d.stopUnrecorded(ctx, workload); err != nil {
			return err
		}
		return d.startUnrecorded(ctx, workload)
	}
	w, err = d.records.Change(ctx, workload, func(w *records.Workload) error {
		rev, pin := course(w)
		in := intent{rev: rev, kind: store.AttemptRestart, action: actionRestart, anew: true}
		if w.Desired.Stopped {
			in.action, in.pin, in.anew = actionStart, pin, false // all containers are started anew anyway
		}
		in.images, in.pinned = w.PlannedRelease(pin), func(string) bool { return true }
		return d.desire(w, in, d.now())
	})
	if err != nil {
		return failed("restart", err)
	}
	return d.begin(ctx, w)
}

// loadOrLook is mustLoad for what works from labels alone: nil and no error when
// there are containers and no record.
func (d *Driver) loadOrLook(ctx context.Context, workload id.ID) (*records.Workload, error) {
	w, err := d.load(ctx, workload)
	switch {
	case err != nil:
		return nil, err
	case w != nil && w.Deleting:
		return nil, fmt.Errorf("%w: instance %s is being deprovisioned", provider.ErrConflict, workload)
	case w != nil:
		return w, nil
	}
	list, err := d.containers(ctx, workload)
	if err == nil && len(list) == 0 {
		err = notFound(workload)
	}
	return nil, err
}

// stopUnrecorded stops the containers of a workload without a record, main
// before what is beside it.
func (d *Driver) stopUnrecorded(ctx context.Context, workload id.ID) error {
	list, err := d.containers(ctx, workload)
	if err != nil {
		return err
	}
	return failed("stop "+workload.String(), d.stopAll(ctx, list, nil))
}

// startUnrecorded starts the containers of a workload without a record. Inits
// have done their work.
func (d *Driver) startUnrecorded(ctx context.Context, workload id.ID) error {
	list, err := d.containers(ctx, workload)
	if err != nil {
		return err
	}
	for _, mains := range []bool{true, false} {
		for i := range list {
			c := &list[i]
			if isMain(c) != mains || c.Labels[docker.LabelRole] == roleInit || c.Running() {
				continue
			}
			if err := d.startOne(ctx, workload, c.ID, nil); err != nil {
				return failed("start container "+c.Name, err)
			}
		}
	}
	return nil
}

const roleInit = "init"

func isMain(c *docker.ContainerState) bool { return c.Labels[docker.LabelRole] == "" }

// serviceName is the service that a container runs.
func serviceName(c *docker.ContainerState) string {
	return cmp.Or(c.Labels[docker.LabelMember], "main")
}
