package application

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/store"
)

// TeardownStore is the persistence that a DeleteFinalizer needs. Every
// store.Store is one.
type TeardownStore interface {
	ServiceStore
	AddPendingTeardown(ctx context.Context, name, nodeID string) error
	DeletePendingTeardown(ctx context.Context, name string) error
	RecordPendingTeardownFailure(ctx context.Context, name, cause string) error
	ListPendingTeardowns(ctx context.Context) ([]store.PendingTeardown, error)
	ListDesiredServices(ctx context.Context, app string) ([]store.DesiredService, error)
	DeleteActiveRelease(ctx context.Context, service string) (int64, error)
	DeleteConditions(ctx context.Context, controllerName string) error
}

// RuntimeResolver maps a node id to the engine of that node; "" is this machine.
type RuntimeResolver func(nodeID string) (docker.Runtime, error)

// ErrTeardownPending: containers remain that requests are still draining
// from, or that have not ended yet. The teardown goes on with the next call.
var ErrTeardownPending = errors.New("teardown pending")

// DeleteFinalizer removes what is left of deleted services. The tombstone is
// written before (or with) the removal of the desired state and cleared only
// once no container is left, so an engine that does not answer or a stop that
// fails is tried again instead of leaving containers behind.
type DeleteFinalizer struct {
	store   TeardownStore
	resolve RuntimeResolver
	logger  *slog.Logger
	opts    []Option
}

var _ reconcile.Controller = (*DeleteFinalizer)(nil)

// NewDeleteFinalizer builds a finalizer. The options are those of the
// controllers whose containers it removes.
func NewDeleteFinalizer(s TeardownStore, resolve RuntimeResolver, logger *slog.Logger, opts ...Option) *DeleteFinalizer {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &DeleteFinalizer{store: s, resolve: resolve, logger: logger, opts: opts}
}

// Name is "application/delete-finalizer".
func (f *DeleteFinalizer) Name() string { return finalizerName }

// Begin writes the tombstone of a service, before its desired state is deleted.
func (f *DeleteFinalizer) Begin(ctx context.Context, name, nodeID string) error {
	return f.store.AddPendingTeardown(ctx, name, nodeID)
}

// Finalize takes the service's traffic off, then stops and removes its
// containers on the node, and clears the tombstone when none is left. Until
// then it answers ErrTeardownPending; any other error is recorded with the
// tombstone. Call it again in both cases.
func (f *DeleteFinalizer) Finalize(ctx context.Context, name, nodeID string) error {
	t, err := f.tombstone(ctx, name)
	if err != nil || t == nil {
		return err
	}
	err = f.finalize(ctx, t, nodeID)
	if err != nil && !errors.Is(err, ErrTeardownPending) {
		if rerr := f.store.RecordPendingTeardownFailure(ctx, name, err.Error()); rerr != nil {
			err = errors.Join(err, storeError("record the failed teardown of "+name, rerr))
		}
	}
	return err
}

func (f *DeleteFinalizer) tombstone(ctx context.Context, name string) (*store.PendingTeardown, error) {
	all, err := f.store.ListPendingTeardowns(ctx)
	if err != nil {
		return nil, storeError("list pending teardowns", err)
	}
	i := slices.IndexFunc(all, func(t store.PendingTeardown) bool { return t.Name == name })
	if i < 0 {
		return nil, nil
	}
	return &all[i], nil
}

func (f *DeleteFinalizer) finalize(ctx context.Context, t *store.PendingTeardown, nodeID string) error {
	_, err := f.store.GetDesiredService(ctx, t.Name)
	switch {
	case err == nil:
		// Desired again: its controller takes over what is there.
		return f.store.DeletePendingTeardown(ctx, t.Name)
	case !errors.Is(err, store.ErrServiceNotFound):
		return storeError("read service "+t.Name, err)
	}
	_, err = f.store.GetActiveRelease(ctx, t.Name)
	switch {
	case err == nil:
		if _, err := f.store.DeleteActiveRelease(ctx, t.Name); err != nil {
			return storeError("take "+t.Name+" off its routes", err)
		}
		return fmt.Errorf("%s: traffic is being taken off: %w", t.Name, ErrTeardownPending)
	case !errors.Is(err, store.ErrNotFound):
		return storeError("read the active release of "+t.Name, err)
	}
	rt, err := f.resolve(nodeID)
	if err != nil {
		return fmt.Errorf("engine of node %q: %w", nodeID, err)
	}
	c := New(t.Name, f.store, rt, f.opts...)
	if err := c.teardown(ctx, t.AppID, t.AttemptID); err != nil {
		return err
	}
	return f.settle(ctx, c, t)
}

// settle records the end of a deletion and cleans up after the last service.
func (f *DeleteFinalizer) settle(ctx context.Context, c *Controller, t *store.PendingTeardown) error {
	if t.AttemptID != 0 {
		err := f.store.UpdateAttemptService(ctx, store.AttemptService{
			AttemptID: t.AttemptID, Service: t.Name, Action: "delete", State: store.AttemptSucceeded,
			Reason: string(ReasonTeardownDone), Message: "every container is removed; volumes are kept", UpdatedAt: c.now(),
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return storeError("settle the deletion of "+t.Name, err)
		}
	}
	if err := f.store.DeleteConditions(ctx, ControllerName(t.Name)); err != nil {
		return storeError("drop the conditions of "+t.Name, err)
	}
	if err := f.removeAppNetwork(ctx, c, t); err != nil {
		return err
	}
	if err := f.store.DeletePendingTeardown(ctx, t.Name); err != nil {
		return storeError("clear the tombstone of "+t.Name, err)
	}
	c.forget()
	return nil
}

// removeAppNetwork removes the app's network with its last service.
func (f *DeleteFinalizer) removeAppNetwork(ctx context.Context, c *Controller, t *store.PendingTeardown) error {
	if t.AppID == "" {
		return nil
	}
	left, err := f.store.ListDesiredServices(ctx, t.AppID)
	if err != nil {
		return storeError("list services of app "+t.AppID, err)
	}
	pending, err := f.store.ListPendingTeardowns(ctx)
	if err != nil {
		return storeError("list pending teardowns", err)
	}
	others := slices.ContainsFunc(pending, func(p store.PendingTeardown) bool { return p.AppID == t.AppID && p.Name != t.Name })
	if len(left) > 0 || others {
		return nil
	}
	return c.networks.Remove(ctx, t.AppID)
}

// RemoveAppNetwork removes the app's network on a node if it is ours. It
// disconnects nothing: a network with containers attached stays and is an error.
func (f *DeleteFinalizer) RemoveAppNetwork(ctx context.Context, appID, nodeID string) error {
	rt, err := f.resolve(nodeID)
	if err != nil {
		return fmt.Errorf("engine of node %q: %w", nodeID, err)
	}
	return New(appID, f.store, rt, f.opts...).networks.Remove(ctx, appID)
}

// Reconcile goes on with every tombstone.
func (f *DeleteFinalizer) Reconcile(ctx context.Context) (reconcile.Result, error) {
	all, err := f.store.ListPendingTeardowns(ctx)
	if err != nil {
		return result(reconcile.Unknown, ReasonStoreError, err.Error()), storeError("list pending teardowns", err)
	}
	if len(all) == 0 {
		return result(reconcile.True, ReasonNothingToDo, "no deletion is pending"), nil
	}
	var failed []error
	pending := 0
	for i := range all {
		err := f.Finalize(ctx, all[i].Name, all[i].NodeID)
		switch {
		case errors.Is(err, ErrTeardownPending):
			pending++
		case err != nil:
			failed = append(failed, err)
		}
	}
	if pending+len(failed) == 0 {
		return result(reconcile.True, ReasonTeardownDone, fmt.Sprintf("%d deletions done", len(all))), nil
	}
	res := result(reconcile.False, ReasonTeardownPending, fmt.Sprintf("%d of %d deletions pending", pending+len(failed), len(all)))
	if pending > 0 {
		res.RequeueAfter = time.Second
	}
	return res, errors.Join(failed...)
}

// For is the controller that finishes the deletion of one service, under the
// service's own key: so no pass that creates runs beside it.
func (f *DeleteFinalizer) For(name, nodeID string) reconcile.Controller {
	return &finalizing{f: f, name: name, node: nodeID}
}

type finalizing struct {
	f          *DeleteFinalizer
	name, node string
}

func (c *finalizing) Name() string { return ControllerName(c.name) }

func (c *finalizing) Reconcile(ctx context.Context) (reconcile.Result, error) {
	err := c.f.Finalize(ctx, c.name, c.node)
	if errors.Is(err, ErrTeardownPending) {
		return reconcile.Result{RequeueAfter: 200 * time.Millisecond}, nil
	}
	return reconcile.Result{}, err
}

// Teardown stops and removes every container of the service. Call it after
// the desired state is gone: a controller without desired state removes
// nothing by itself. It answers ErrTeardownPending while requests drain.
func (c *Controller) Teardown(ctx context.Context) error {
	return c.teardown(ctx, "", 0)
}

// teardownRounds bounds a teardown: stop, remove, look again.
const teardownRounds = 4

func (c *Controller) teardown(ctx context.Context, app string, attempt int64) error {
	for range teardownRounds {
		w := &World{Now: c.now(), Timing: c.timing, Ingress: c.ingress(),
			Desired: &store.DesiredService{Name: c.service, AppID: app, Suspended: true}}
		if attempt != 0 {
			w.Attempt = &store.AttemptService{AttemptID: attempt, Service: c.service, State: store.AttemptSucceeded}
		}
		if err := c.gatherContainers(ctx, w); err != nil {
			return err
		}
		if err := c.gatherGrace(ctx, w); err != nil {
			return err
		}
		c.memory.markDirty(c.service)
		if err := c.gatherLeaked(ctx, w); err != nil {
			return err
		}
		plan := PlanPass(*w)
		if len(plan.Actions) == 0 {
			if len(w.Groups) > 0 {
				return fmt.Errorf("%s: requests drain from %d containers: %w", c.service, len(w.Groups), ErrTeardownPending)
			}
			return nil
		}
		if _, err := c.execute(ctx, w, plan.Actions); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", c.service, ErrTeardownPending)
}

// gatherGrace finds the longest grace of the releases that the containers are
// of: what is no longer desired says none itself.
func (c *Controller) gatherGrace(ctx context.Context, w *World) error {
	for i := range w.Groups {
		for j := range w.Groups[i].Members {
			id := w.Groups[i].Members[j].ReleaseID
			if id == "" {
				continue
			}
			r, err := c.release(ctx, id)
			switch {
			case errors.Is(err, store.ErrNotFound):
			case err != nil:
				return err
			default:
				w.Desired.Spec.StopGrace = max(w.Desired.Spec.StopGrace, r.Spec.StopGrace)
			}
		}
	}
	return nil
}
