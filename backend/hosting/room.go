package hosting

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/backend/hosting/sku"
)

// count puts what the leases hold, and what they left, into the pool.
func (h *Hosting) count() error {
	var found pool.Facts
	all, _ := h.rows.page("", 0)
	for _, r := range all {
		if held, err := h.holding(r); err != nil {
			// Its SKU is gone from the configuration. It runs on; a change is refused.
			h.cfg.Logger.Error("what a lease holds cannot be counted", "lease", r.Lease, "error", err)
		} else if held != nil {
			found.Holdings = append(found.Holdings, *held)
		}
	}
	for _, s := range h.sets.all() {
		if s.Left != nil {
			found.Retained = append(found.Retained, pool.Retained{Lease: s.ID, Tenant: s.Tenant, DiskMB: s.Left.DiskMB})
		}
	}
	if err := h.cfg.Pool.Rebuild(found, nil); err != nil {
		return fmt.Errorf("count what leases hold: %w", err)
	}
	return nil
}

// runs reports whether anything of a lease runs, or is to.
func (r *row) runs() bool {
	switch r.Status {
	case backend.ProvisionStatusFailed, backend.ProvisionStatusDeprovisioning:
		return len(r.Old)+len(r.Workloads) > 0
	}
	return !r.Gone
}

// holding is what a lease has of the pool, nil for nothing: everything as long as
// something of it runs, and then its disk as long as it holds volumes.
func (h *Hosting) holding(r *row) (*pool.Holding, error) {
	if r == nil {
		return nil, nil
	}
	s := h.sets.get(r.Set)
	if !r.runs() && !s.heldBy(r.Lease) {
		return nil, nil
	}
	instances, err := pool.Instances(r.Lease, r.Items, h.cfg.SKUs)
	if err != nil {
		return nil, err
	}
	held := &pool.Holding{Lease: r.Lease, Tenant: r.Tenant, Instances: instances}
	if s.heldBy(r.Lease) && s.claimed() {
		held.From = s.ID
	}
	if r.runs() {
		return held, nil
	}
	held.Instances = held.Instances[:0]
	for _, one := range instances {
		if one.Size.DiskMB > 0 {
			one.Size = sku.Size{DiskMB: one.Size.DiskMB}
			held.Instances = append(held.Instances, one)
		}
	}
	if len(held.Instances) == 0 {
		return nil, nil
	}
	return held, nil
}

// reserve makes room for what a lease is to be, whatever it held. Its caller has the
// turn, and calls settle when nothing comes of it.
func (h *Hosting) reserve(held pool.Holding) error {
	var err error
	if held.From != "" {
		err = h.cfg.Pool.Adopt(held.Lease, held.From, held.Tenant, held.Instances)
	} else {
		err = h.cfg.Pool.Reserve(held.Lease, held.Tenant, held.Instances)
	}
	if errors.Is(err, backend.ErrAlreadyProvisioned) {
		err = h.cfg.Pool.Resize(held.Lease, held.Instances)
	}
	return err
}

// settle has a lease hold what its row says. Its caller has the turn.
func (h *Hosting) settle(lease string, r *row) {
	held, err := h.holding(r)
	if err == nil && held == nil {
		h.cfg.Pool.Release(lease)
		return
	}
	if err == nil {
		err = h.reserve(*held)
	}
	if err != nil { // it runs on; the next start counts it
		h.cfg.Logger.Error("what a lease holds cannot be counted", "lease", lease, "error", err)
	}
}

// countSet has the pool count what a lease left, and no longer what it left before.
func (h *Hosting) countSet(ctx context.Context, before, s *set) {
	if before == s {
		return
	}
	if before != nil && before.Left != nil && (s == nil || s.Left == nil) {
		h.cfg.Pool.Forget(before.ID)
	}
	if s == nil || s.Left == nil || s.State == setHeld {
		return
	}
	err := h.cfg.Pool.Retain(s.ID, s.Tenant, s.Left.DiskMB)
	if err != nil && !errors.Is(err, backend.ErrInvalidState) { // that one is counted, and given back in a moment
		h.cfg.Logger.ErrorContext(ctx, "what a lease left cannot be counted", "lease", s.Left.Lease, "error", err)
	}
}

// left has a lease that left its volumes hold nothing of the disk any more.
func (h *Hosting) left(ctx context.Context, r *row, err error) error {
	if err != nil {
		return err
	}
	leave, err := h.rows.turn(ctx, r.Lease)
	if err != nil {
		return err
	}
	defer leave()
	if now := h.rows.get(r.Lease).row; now != nil && now.Life == r.Life && !now.runs() {
		h.settle(r.Lease, now)
	}
	return nil
}
