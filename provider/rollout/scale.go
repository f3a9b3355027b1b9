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
// the last release had. A rollback keeps the number of replicas and brings back
// everything else that its release says. Scale makes no release, waits for nothing, and is
// a BusyError during a rollout.
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

// size is the main service's, with the zero fields of size filled in: what Scale
// gave it, and else what its release has.
func (r *record) size(size provider.ResourceSpec) provider.ResourceSpec {
	if r.Scaled != nil {
		size = fill(size, *r.Scaled)
	}
	if main := r.mainOf(r.base()); main != nil && main.Resources != nil {
		size = fill(size, *main.Resources)
	}
	return size
}

func fill(size, from provider.ResourceSpec) provider.ResourceSpec {
	return provider.ResourceSpec{
		CPUMillis: cmp.Or(size.CPUMillis, from.CPUMillis), MemoryMB: cmp.Or(size.MemoryMB, from.MemoryMB),
		DiskMB: cmp.Or(size.DiskMB, from.DiskMB), Replicas: cmp.Or(size.Replicas, from.Replicas), GPU: cmp.Or(size.GPU, from.GPU),
	}
}

// mainOf is the main service in a release.
func (r *record) mainOf(rel *Release) *provider.ServiceSnapshot {
	if rel == nil {
		return nil
	}
	for i := range rel.Services {
		if rel.Services[i].Name == r.main() {
			return &rel.Services[i]
		}
	}
	return nil
}

// replicas is the number that a release says, zero when it says none.
func (r *record) replicas(rel *Release) int {
	if main := r.mainOf(rel); main != nil && main.Resources != nil {
		return main.Resources.Replicas
	}
	return 0
}

// sizeAfterUndo is what to scale to when a rollout returned to its base: what
// Scale had given, and the number of replicas where the release that failed brought
// another. Zero is nothing.
func (r *record) sizeAfterUndo(ro *Rollout) provider.ResourceSpec {
	if r.Scaled != nil {
		return *r.Scaled
	}
	base, lost := r.release(ro.Base), r.release(ro.Release)
	if n := r.replicas(base); n != r.replicas(lost) {
		return provider.ResourceSpec{Replicas: n}
	}
	return provider.ResourceSpec{}
}

// sizeAfterRollback is what to scale to when an earlier release is asked for: the
// number of replicas belongs to the workload and stays, everything else to the
// release.
func (r *record) sizeAfterRollback(rel *Release) provider.ResourceSpec {
	if n := r.size(provider.ResourceSpec{}).Replicas; n != r.replicas(rel) {
		return provider.ResourceSpec{Replicas: n}
	}
	return provider.ResourceSpec{}
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
