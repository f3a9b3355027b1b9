package hosting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// measureTime bounds the measuring of volumes in a request.
const measureTime = 5 * time.Second

// Restore implements backend.Backend. What is retained becomes the new lease's with one
// write; a request that comes to nothing after it has it given back.
func (h *Hosting) Restore(ctx context.Context, req backend.RestoreRequest) error {
	if err := h.cfg.Target(req.CallbackURL); err != nil {
		return err
	}
	items, err := backend.NormalizeItems(req.Items)
	if err != nil {
		return err
	}
	req.Items = items
	if err := h.mayBe(req.LeaseUUID); err != nil {
		return err
	}
	if req.LeaseUUID == req.FromLeaseUUID {
		return fmt.Errorf("%w: a lease is restored to another one", backend.ErrValidation)
	}
	if err := h.domains(req.Items, backend.ErrValidation); err != nil {
		return err
	}
	if err := restorable(h.rows.get(req.LeaseUUID).row); err != nil {
		return err
	}
	s, err := h.retained(&req)
	if err != nil {
		return err
	}
	payload, stack, err := h.leftStack(ctx, s, &req)
	if err != nil {
		return err
	}
	instances, err := pool.Instances(req.LeaseUUID, req.Items, h.cfg.SKUs)
	if err != nil {
		return err
	}
	if err := h.fits(ctx, s, req.Items); err != nil {
		return err
	}
	return h.adopt(ctx, &req, s, payload, stack, instances)
}

// mayBe refuses the name that is not a lease's.
func (h *Hosting) mayBe(lease string) error {
	if lease == Reaper || lease == "" {
		return fmt.Errorf("%w: %q is not the UUID of a lease", backend.ErrValidation, lease)
	}
	return nil
}

// restorable refuses to restore to a lease that is there.
func restorable(r *row) error {
	if r != nil && !r.Gone {
		return fmt.Errorf("lease %s is %s: %w", r.Lease, r.Status, backend.ErrAlreadyProvisioned)
	}
	return nil
}

// retained is what a request wants to restore. It does not tell whose the data is.
func (h *Hosting) retained(req *backend.RestoreRequest) (*set, error) {
	s := h.sets.leftBy(req.FromLeaseUUID)
	switch {
	case s == nil || s.Tenant != req.Tenant || s.State == setReaping || s.State == setRetained && h.cfg.Retention.expired(s, h.cfg.Now()):
		return nil, fmt.Errorf("lease %s: %w", req.FromLeaseUUID, backend.ErrNotRetained)
	case req.ProviderUUID != "" && req.ProviderUUID != s.ProviderUUID:
		return nil, fmt.Errorf("%w: lease %s was another provider's", backend.ErrValidation, req.FromLeaseUUID)
	case s.State == setHeld && s.Owner != req.LeaseUUID: // else a crash came before its row
		return nil, fmt.Errorf("lease %s is being restored: %w", req.FromLeaseUUID, backend.ErrInvalidState)
	case !maps.Equal(quantities(req.Items), quantities(s.Left.Items)):
		return nil, fmt.Errorf("%w: lease %s had other services, or other quantities of them", backend.ErrValidation, req.FromLeaseUUID)
	}
	return s, nil
}

// quantities are how many there are of each service.
func quantities(items []backend.LeaseItem) map[string]int {
	out := map[string]int{}
	for _, item := range items {
		out[item.ServiceName] += item.Quantity
	}
	return out
}

// leftStack is the manifest of the lease that left a set, as a lease with other SKUs may
// run it.
func (h *Hosting) leftStack(ctx context.Context, s *set, req *backend.RestoreRequest) ([]byte, *manifest.Stack, error) {
	payload, err := h.sets.manifest(ctx, s.ID)
	if errors.Is(err, provider.ErrNotFound) {
		if now := h.sets.get(s.ID); now == nil || now.Generation != s.Generation || now.State != s.State {
			return nil, nil, fmt.Errorf("lease %s: %w", req.FromLeaseUUID, backend.ErrNotRetained)
		}
		return nil, nil, fmt.Errorf("%w: there is no manifest of lease %s", backend.ErrRestoreRefused, req.FromLeaseUUID)
	}
	if err != nil {
		return nil, nil, err
	}
	stack, err := h.stack(payload, "", req.Items)
	return payload, stack, err
}

// fits refuses a lease whose disks are smaller than what the volumes hold. Where they are
// not smaller than before nothing is measured.
func (h *Hosting) fits(ctx context.Context, s *set, items []backend.LeaseItem) error {
	disks, before := h.disks(items), s.Left.Disks
	var smaller []string
	wanted := quantities(items)
	for _, one := range s.Slots {
		switch {
		case wanted[one.Service] == 0: // nothing of the lease uses it; it goes with the others
		case disks[one.Service] == 0:
			return fmt.Errorf("%w: service %s has volumes, and its SKU no disk", backend.ErrDemoteDataExceedsTier, one.Service)
		case disks[one.Service] < before[one.Service] || before[one.Service] == 0:
			smaller = append(smaller, one.ids(0)...)
		}
	}
	if len(smaller) == 0 {
		return nil
	}
	used, err := h.measure(ctx, s.Tenant, smaller)
	if err != nil {
		h.cfg.Logger.WarnContext(ctx, "volumes cannot be measured", "volumes", s.ID, "error", err)
		return fmt.Errorf("%w: the volumes cannot be measured now", backend.ErrDemoteDataExceedsTier)
	}
	return s.within(disks, used)
}

// measure is how many bytes volumes hold. One that was never made holds none; one that is
// there and cannot be measured is an error.
func (h *Hosting) measure(ctx context.Context, tenant string, volumes []string) (map[string]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, measureTime)
	defer cancel()
	used, err := h.keeper().KeptVolumeUsage(ctx, tenant, volumes)
	if err != nil || len(used) == len(volumes) {
		return used, err
	}
	there, err := h.keeper().KeptVolumes(ctx, tenant)
	if err != nil {
		return nil, err
	}
	for _, one := range there {
		if _, measured := used[one.ID]; !measured && slices.Contains(volumes, one.ID) {
			return nil, fmt.Errorf("volume %s is there, and was not measured", one.ID)
		}
	}
	return used, nil
}

// within holds what each instance uses against its disk, in MB.
func (s *set) within(disks map[string]int64, used map[string]int64) error {
	sums := map[string][]int64{}
	for _, one := range s.Slots {
		for i, volume := range one.ids(0) {
			for len(sums[one.Service]) <= i {
				sums[one.Service] = append(sums[one.Service], 0)
			}
			if sums[one.Service][i] += used[volume]; sums[one.Service][i] > disks[one.Service]<<20 {
				return fmt.Errorf("%w: service %s uses more than the %d MB of its SKU", backend.ErrDemoteDataExceedsTier, one.Service, disks[one.Service])
			}
		}
	}
	return nil
}

// adopt makes what is retained the new lease's: room first, then the owner, then the row.
func (h *Hosting) adopt(ctx context.Context, req *backend.RestoreRequest, s *set, payload []byte, stack *manifest.Stack, instances []pool.Instance) error {
	lease := req.LeaseUUID
	leave, err := h.rows.turn(ctx, lease)
	if err != nil {
		return err
	}
	defer leave()
	claimed := false
	err = h.changeNow(ctx, lease, func(r *row) (*row, error) {
		if err := restorable(r); err != nil {
			return nil, err
		}
		if err := h.admit(); err != nil {
			return nil, err
		}
		if err := h.reserve(pool.Holding{Lease: lease, Tenant: req.Tenant, Instances: instances, From: s.ID}); err != nil {
			return nil, s.refusal(err)
		}
		next := h.beginRestore(r, req, s, stack)
		if err := h.claim(ctx, s, lease); err != nil {
			claimed = h.sets.inDoubt(s.ID)
			return nil, err
		}
		claimed = true
		return next, h.rows.putManifest(ctx, lease, next.Op.Version, payload)
	})
	if err != nil {
		h.resolve(ctx, lease)
	}
	if err != nil && !h.rows.inDoubt(lease) {
		if claimed && !h.names(h.rows.get(lease).row, s.ID) {
			h.unclaim(ctx, s.ID, lease)
		}
		h.settle(lease, h.rows.get(lease).row)
	}
	return err
}

// refusal is an error of the pool in the words of the lease that left a set.
func (s *set) refusal(err error) error {
	for _, kind := range []error{backend.ErrNotRetained, backend.ErrInvalidState} {
		if errors.Is(err, kind) {
			return fmt.Errorf("what lease %s left is taken: %w", s.Left.Lease, kind)
		}
	}
	return err
}

// claim makes a lease the owner of what is retained, if it is as it was looked at.
func (h *Hosting) claim(ctx context.Context, was *set, lease string) error {
	_, err := h.changeSet(ctx, was.ID, func(s *set) (*set, error) {
		switch {
		case s.heldBy(lease) && s.claimed():
			return nil, nil // by a try before
		case s == nil || s.State == setReaping:
			return nil, fmt.Errorf("lease %s: %w", was.Left.Lease, backend.ErrNotRetained)
		case s.State != setRetained || s.Generation != was.Generation:
			return nil, fmt.Errorf("lease %s is being restored: %w", was.Left.Lease, backend.ErrInvalidState)
		}
		s.State, s.Owner = setHeld, lease
		s.Generation++
		return s, nil
	})
	return err
}

// unclaim gives back at once what no row came to. Where that fails the reaper does.
func (h *Hosting) unclaim(ctx context.Context, id, lease string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTime)
	defer cancel()
	if err := h.giveBack(ctx, id, lease); err != nil {
		h.cfg.Logger.WarnContext(ctx, "volumes are not given back yet", "volumes", id, "error", err)
		h.hub.Tell(Reaper)
	}
}

// beginRestore is the row of a lease that is being restored.
func (h *Hosting) beginRestore(r *row, req *backend.RestoreRequest, s *set, stack *manifest.Stack) *row {
	now := h.cfg.Now()
	next := &row{
		Format: rowFormat, Lease: req.LeaseUUID, Life: h.cfg.NewID(), CreatedAt: now, Tenant: req.Tenant, ProviderUUID: s.ProviderUUID,
		Items: slices.Clone(req.Items), CallbackURL: req.CallbackURL, Status: backend.ProvisionStatusProvisioning, Workloads: newWorkloads(req.Items), Set: s.ID,
	}
	if r != nil {
		next.Pending = r.Pending // of the life before
	}
	next.hope(nil, now)
	h.addRelease(next, stack)
	next.Op = &operation{ID: h.cfg.NewID(), Kind: opRestore, Version: next.Releases[0].Version, Deadline: now.Add(h.cfg.Timing.Provision)}
	return next
}

// newWorkloads are those of which the provider knows nothing yet.
func newWorkloads(items []backend.LeaseItem) map[string]workload {
	out := map[string]workload{}
	for _, item := range items {
		if item.Quantity > 0 {
			out[item.ServiceName] = workload{Instance: id.New(id.KindWorkload), Release: id.New(id.KindRelease)}
		}
	}
	return out
}

// restoreFailed is the row of a restore that is to be taken back: what runs of it goes,
// then the volumes go back, and then the failure is told.
func restoreFailed(r *row, f *failure) *row {
	next := r.clone()
	next.Op.Failed = f
	next.retire()
	return next
}

// planRestoreBack ends a restore of which nothing runs any more.
func planRestoreBack(r *row, w *world) plan {
	if w.set.heldBy(r.Lease) && w.set.claimed() {
		return plan{effects: []effect{{verb: doGiveBack}}}
	}
	next := r.clone()
	next.Set = ""
	next.fail(&failure{backend.ReasonRestoreFailed, "restore failed: " + r.Op.Failed.Message, r.Op.Failed.Said})
	return plan{next: next}
}

// keep ends a restore that succeeded: nothing is retained any more. The manifest goes
// first, which nobody needs now that the lease has its own.
func (h *Hosting) keep(ctx context.Context, r *row) error {
	if err := h.sets.dropManifest(ctx, r.Set); err != nil {
		return err
	}
	_, err := h.changeSet(ctx, r.Set, func(s *set) (*set, error) {
		if !s.heldBy(r.Lease) || s.Left == nil {
			return nil, nil
		}
		s.Left = nil
		return s, nil
	})
	return err
}
