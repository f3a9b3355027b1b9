package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Scale changes the size of the main service as provider.Provider does, and
// remembers it, so that the next deploy starts from that size and not from the one that
// the last release had. A rollback brings back the size of its release. It makes no
// release, waits for nothing, and is a BusyError during a rollout.
func (m *Manager) Scale(ctx context.Context, workload id.ID, size provider.ResourceSpec) error {
	if size.IsZero() || size.Replicas < 0 || size.Replicas > provider.MaxReplicas || size.CPUMillis < 0 || size.MemoryMB < 0 || size.DiskMB < 0 {
		return fmt.Errorf("%w: the size is empty or out of bounds", provider.ErrInvalid)
	}
	unlock, err := m.locks.lock(ctx, workload)
	if err != nil {
		return err
	}
	defer unlock()
	rec, _, err := m.load(ctx, workload)
	if err != nil {
		return err
	}
	pctx, p, err := m.providers.Acquire(ctx, rec.Provider)
	if err != nil {
		return err
	}
	if err := need(p, provider.CapScale); err != nil {
		return err
	}
	var prior *provider.ResourceSpec
	rec, err = m.update(ctx, workload, func(rec *record) error {
		if err := rec.idle(); err != nil {
			return err
		}
		prior = rec.Scaled
		wanted := rec.size(size)
		rec.Scaled = &wanted
		return nil
	})
	if err != nil {
		return err
	}
	pctx, cancel := m.call(pctx)
	defer cancel()
	err = p.Scale(pctx, workload, size)
	if err != nil && refused(err) {
		err = errors.Join(err, m.unscale(ctx, workload, *rec.Scaled, prior))
	}
	return err
}

// size is the main service's with the zero fields of size filled in.
func (r *record) size(size provider.ResourceSpec) provider.ResourceSpec {
	var have provider.ResourceSpec
	switch base := r.base(); {
	case r.Scaled != nil:
		have = *r.Scaled
	case base != nil:
		for _, s := range base.Services {
			if s.Name == r.main() && s.Resources != nil {
				have = *s.Resources
			}
		}
	}
	return provider.ResourceSpec{
		CPUMillis: cmp.Or(size.CPUMillis, have.CPUMillis), MemoryMB: cmp.Or(size.MemoryMB, have.MemoryMB),
		DiskMB: cmp.Or(size.DiskMB, have.DiskMB), Replicas: cmp.Or(size.Replicas, have.Replicas), GPU: cmp.Or(size.GPU, have.GPU),
	}
}

// unscale takes back a size that the provider refused, unless another was recorded
// since.
func (m *Manager) unscale(ctx context.Context, workload id.ID, wanted provider.ResourceSpec, prior *provider.ResourceSpec) error {
	_, err := m.update(ctx, workload, func(rec *record) error {
		if rec.Scaled == nil || *rec.Scaled != wanted {
			return errNoChange
		}
		rec.Scaled = prior
		return nil
	})
	return err
}
