package hosting

import (
	"context"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/id"
)

// replaceable are the states in which a lease may be restarted or updated.
var replaceable = []backend.ProvisionStatus{backend.ProvisionStatusReady, backend.ProvisionStatusFailed, backend.ProvisionStatusFailing}

// mayReplace refuses a restart or an update of a lease that cannot have one.
func mayReplace(r *row, lease string) error {
	switch {
	case r == nil || r.Gone:
		return unknown(lease)
	case !slices.Contains(replaceable, r.Status) || r.active() == nil:
		return fmt.Errorf("lease %s is %s: %w", lease, r.Status, backend.ErrInvalidState)
	}
	return nil
}

// Restart implements backend.Backend.
func (h *Hosting) Restart(ctx context.Context, req backend.RestartRequest) error {
	if err := h.cfg.Target(req.CallbackURL); err != nil {
		return err
	}
	return h.change(ctx, req.LeaseUUID, func(r *row) (*row, error) {
		if err := mayReplace(r, req.LeaseUUID); err != nil {
			return nil, err
		}
		r.Op = &operation{
			ID: h.cfg.NewID(), Kind: opRestart, Version: r.manifestVersion(), Deadline: h.cfg.Now().Add(h.cfg.Timing.Replace),
		}
		r.Status, r.CallbackURL = backend.ProvisionStatusRestarting, req.CallbackURL
		return r, nil
	})
}

// Update implements backend.Backend.
func (h *Hosting) Update(ctx context.Context, req backend.UpdateRequest) error {
	if err := h.cfg.Target(req.CallbackURL); err != nil {
		return err
	}
	return h.change(ctx, req.LeaseUUID, func(r *row) (*row, error) {
		if err := mayReplace(r, req.LeaseUUID); err != nil {
			return nil, err
		}
		stack, err := h.stack(req.Payload, req.PayloadHash, r.Items)
		if err != nil {
			return nil, err
		}
		h.addRelease(r, stack)
		version := r.Releases[len(r.Releases)-1].Version
		r.Op = &operation{ID: h.cfg.NewID(), Kind: opUpdate, Version: version, Deadline: h.cfg.Now().Add(h.cfg.Timing.Replace)}
		for name, w := range r.Workloads {
			r.Workloads[name] = workload{Instance: w.Instance, Before: w.Release, Release: id.New(id.KindRelease)}
		}
		r.Status, r.CallbackURL = backend.ProvisionStatusUpdating, req.CallbackURL
		return r, h.rows.putManifest(ctx, r.Lease, version, req.Payload)
	})
}

// Deprovision implements backend.Backend.
func (h *Hosting) Deprovision(ctx context.Context, lease string) error {
	err := h.change(ctx, lease, func(r *row) (*row, error) {
		if r == nil || r.Status == backend.ProvisionStatusDeprovisioning {
			return nil, nil
		}
		r.Status, r.Op, r.Spill = backend.ProvisionStatusDeprovisioning, nil, "" // all volumes go one way
		r.retire()
		return r, nil
	})
	if err == nil {
		h.preempt(lease)
	}
	return err
}
