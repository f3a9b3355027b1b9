package hosting

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// tries bounds how often a change of a row is made again because somebody else
// changed it meanwhile.
const tries = 20

// change reads a row, has it changed, and writes it, until nobody came between.
// edit gets a clone, or nil for a lease without a row, and returns what is to be
// written; nil is nothing.
func (h *Hosting) change(ctx context.Context, lease string, edit func(r *row) (*row, error)) error {
	var err error
	for range tries {
		k := h.rows.get(lease)
		var before *row
		if k.row != nil {
			before = k.row.clone()
		}
		var next *row
		if next, err = edit(before); err != nil || next == nil {
			return err
		}
		if _, err = h.rows.put(ctx, next, k.version); err == nil {
			h.hub.tell(lease)
			return nil
		}
		if !errors.Is(err, provider.ErrConflict) {
			return err
		}
		h.rows.reread(ctx, lease)
	}
	return err
}

// stack reads a manifest and holds it against what a lease may run.
func (h *Hosting) stack(payload []byte, hash string, items []backend.LeaseItem) (*manifest.Stack, error) {
	if sum := sha256.Sum256(payload); hash != "" && hash != hex.EncodeToString(sum[:]) {
		return nil, fmt.Errorf("%w: it is not the one of the payload_hash", backend.ErrInvalidManifest)
	}
	stack, err := manifest.Parse(payload)
	if err != nil {
		return nil, err
	}
	if err := stack.Match(items); err != nil {
		return nil, err
	}
	for _, item := range items { // what the provider would refuse is refused now
		if item.Quantity == 0 {
			continue
		}
		if _, err := h.workload(stack, item); err != nil {
			return nil, err
		}
	}
	return stack, h.cfg.Images.Check(stack)
}

// workload is what one item of a lease is at the provider.
func (h *Hosting) workload(stack *manifest.Stack, item backend.LeaseItem) (manifest.Workload, error) {
	tier, err := h.cfg.SKUs.Resolve(item.SKU)
	if err != nil {
		return manifest.Workload{}, err
	}
	return stack.Workload(item, manifest.Place{
		Size:        manifest.Size{CPUCores: float64(tier.Size.MilliCPU) / 1000, MemoryMB: int(tier.Size.MemoryMB)},
		BindAddress: h.cfg.BindAddress,
	})
}

// Provision implements backend.Backend.
func (h *Hosting) Provision(ctx context.Context, req backend.ProvisionRequest) error {
	if err := h.cfg.Target(req.CallbackURL); err != nil {
		return err
	}
	if err := backend.NormalizeProvisionRequest(&req); err != nil {
		return err
	}
	if r := h.rows.get(req.LeaseUUID).row; !provisionable(r) {
		return fmt.Errorf("lease %s is %s: %w", req.LeaseUUID, r.Status, backend.ErrAlreadyProvisioned)
	}
	instances, err := pool.Instances(req.LeaseUUID, req.Items, h.cfg.SKUs)
	if err != nil {
		return err
	}
	stack, err := h.stack(req.Payload, req.PayloadHash, req.Items)
	if err != nil {
		return err
	}
	err = h.cfg.Pool.Reserve(req.LeaseUUID, req.Tenant, instances)
	if errors.Is(err, backend.ErrAlreadyProvisioned) { // it failed, and holds what it held
		err = h.cfg.Pool.Resize(req.LeaseUUID, instances)
	}
	if err != nil {
		return err
	}
	err = h.change(ctx, req.LeaseUUID, func(r *row) (*row, error) {
		if !provisionable(r) {
			return nil, fmt.Errorf("lease %s is %s: %w", req.LeaseUUID, r.Status, backend.ErrAlreadyProvisioned)
		}
		next := h.begin(r, &req, stack)
		return next, h.rows.putManifest(ctx, req.LeaseUUID, next.Op.Version, req.Payload)
	})
	if err != nil && h.rows.get(req.LeaseUUID).row == nil {
		h.cfg.Pool.Release(req.LeaseUUID)
	}
	return err
}

// provisionable reports whether a lease may be provisioned, or once more.
func provisionable(r *row) bool {
	return r == nil || r.Gone || r.Status == backend.ProvisionStatusFailed || r.Status == backend.ProvisionStatusFailing
}

// begin is the row of a lease that is accepted, or accepted once more.
func (h *Hosting) begin(r *row, req *backend.ProvisionRequest, stack *manifest.Stack) *row {
	now := h.cfg.Now()
	next := &row{Format: rowFormat, Lease: req.LeaseUUID, Life: h.cfg.NewID(), CreatedAt: now}
	switch {
	case r != nil && r.Gone:
		next.Pending = r.Pending // of the life before
	case r != nil:
		next = r
		next.retire()
		for i := range next.Releases { // what a new lease is made from is no update of it
			if next.Releases[i].Status == backend.ReleaseStatusActive {
				next.Releases[i].Status = backend.ReleaseStatusSuperseded
			}
		}
	}
	next.Tenant, next.ProviderUUID, next.Items, next.CallbackURL = req.Tenant, req.ProviderUUID, req.Items, req.CallbackURL
	next.Status = backend.ProvisionStatusProvisioning
	next.Workloads = map[string]workload{}
	for _, item := range req.Items {
		if item.Quantity > 0 {
			next.Workloads[item.ServiceName] = workload{Instance: id.New(id.KindWorkload), Release: id.New(id.KindRelease)}
		}
	}
	h.addRelease(next, stack)
	next.Op = &operation{
		ID: h.cfg.NewID(), Kind: opProvision, Version: next.Releases[len(next.Releases)-1].Version, Deadline: now.Add(h.cfg.Timing.Provision),
	}
	return next
}

// addRelease notes a manifest that is to be deployed.
func (h *Hosting) addRelease(r *row, stack *manifest.Stack) {
	version := 1
	if n := len(r.Releases); n > 0 {
		version = r.Releases[n-1].Version + 1
	}
	images := make(map[string]string, len(stack.Services))
	for name, svc := range stack.Services {
		images[name] = svc.Image
	}
	r.Releases = append(r.Releases, release{
		Version: version, Status: backend.ReleaseStatusDeploying, CreatedAt: h.cfg.Now(), Images: images,
	})
}

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
			ID: h.cfg.NewID(), Kind: opRestart, Version: r.manifestVersion(), Deadline: h.cfg.Now().Add(h.cfg.Timing.Replace), From: r.Status,
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
		r.Op = &operation{ID: h.cfg.NewID(), Kind: opUpdate, Version: version, Deadline: h.cfg.Now().Add(h.cfg.Timing.Replace), From: r.Status}
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
		r.Status, r.Op = backend.ProvisionStatusDeprovisioning, nil
		r.retire()
		return r, nil
	})
	if err == nil {
		h.preempt(lease)
	}
	return err
}
