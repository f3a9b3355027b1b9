package rollout

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Deprovision ends the open rollout where it is, removes the instance from its
// provider and then everything recorded about it. It is recorded first: a call that
// failed may be repeated, and Step and Resume go on with one that a crash
// interrupted. It succeeds when there is nothing.
func (m *Manager) Deprovision(ctx context.Context, workload id.ID) error {
	unlock, err := m.locks.lock(ctx, workload)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := m.update(ctx, workload, func(rec *record) error {
		if rec.Removing {
			return errNoChange
		}
		rec.Removing = true
		if open := rec.open(); open != nil {
			m.end(rec, open, StateCancelled)
		}
		return nil
	})
	if errors.Is(err, provider.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.remove(ctx, rec)
}

// remove carries out a removal that is recorded.
func (m *Manager) remove(ctx context.Context, rec *record) error {
	pctx, p, err := m.providers.Acquire(ctx, rec.Provider)
	if err != nil {
		return err
	}
	pctx, cancel := m.call(pctx)
	defer cancel()
	if err := p.Deprovision(pctx, rec.Workload); err != nil {
		return fmt.Errorf("deprovision workload %s: %w", rec.Workload, err)
	}
	return m.Forget(ctx, rec.Workload)
}

// Forget removes everything recorded about a workload and leaves the instance
// alone: for one whose provider is gone for good. It succeeds when there is nothing.
func (m *Manager) Forget(ctx context.Context, workload id.ID) error {
	for range maxSwaps {
		rec, version, err := m.load(ctx, workload)
		if errors.Is(err, provider.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := m.forgetAll(ctx, rec); err != nil {
			return err
		}
		key, err := m.key(workload)
		if err != nil {
			return err
		}
		err = m.store.Delete(ctx, key, version)
		if err == nil || errors.Is(err, provider.ErrNotFound) {
			return nil
		}
		if !errors.Is(err, provider.ErrConflict) {
			return fmt.Errorf("delete record of workload %s: %w", workload, err)
		}
	}
	return fmt.Errorf("%w: the record of workload %s keeps changing", provider.ErrUnavailable, workload)
}
