package hosting

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// tries bounds how often a change of a row is made again because the row was not what
// it was known as.
const tries = 3

// change has a row changed, and writes it. edit gets a clone, or nil for a lease
// without a row, and returns what is to be written; nil is nothing.
func (h *Hosting) change(ctx context.Context, lease string, edit func(r *row) (*row, error)) error {
	leave, err := h.rows.turn(ctx, lease)
	if err != nil {
		return err
	}
	defer leave()
	return h.changeNow(ctx, lease, edit)
}

// changeNow is change for one who has the turn.
func (h *Hosting) changeNow(ctx context.Context, lease string, edit func(r *row) (*row, error)) error {
	var err error
	for range tries {
		var k kept
		if k, err = h.fresh(ctx, lease); err != nil {
			return err
		}
		var before *row
		if k.row != nil {
			before = k.row.clone()
		}
		var next *row
		if next, err = edit(before); err != nil || next == nil {
			return err
		}
		_, err = h.rows.put(ctx, next, k.version)
		h.resolve(ctx, lease)
		h.hub.Tell(lease)
		if !errors.Is(err, provider.ErrConflict) {
			return err
		}
	}
	return err
}

// resolveTime bounds the reading of a row that is in doubt, also when who wrote it has
// left.
const resolveTime = 5 * time.Second

// resolve reads a row that is in doubt. Where that fails the next Step does.
func (h *Hosting) resolve(ctx context.Context, lease string) {
	if !h.rows.inDoubt(lease) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveTime)
	defer cancel()
	if _, err := h.fresh(ctx, lease); err != nil {
		h.cfg.Logger.WarnContext(ctx, "what became of a write is not known yet", "lease", lease, "error", err)
	}
}

// fresh is the row of a lease for one who has the turn. What was in doubt is counted
// as it turned out to be, and the manifest of a request that came to nothing goes.
func (h *Hosting) fresh(ctx context.Context, lease string) (kept, error) {
	k, resolved, err := h.rows.fresh(ctx, lease)
	if err != nil || !resolved {
		return k, err
	}
	h.settle(lease, k.row)
	var of []release
	if k.row != nil {
		of = k.row.Releases
	}
	if err := h.rows.keepManifests(ctx, lease, of); err != nil {
		h.rows.setDoubt(lease)
		return kept{}, err
	}
	return k, nil
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

// workload is what one item of a lease is at the provider, without what its image asks
// for.
func (h *Hosting) workload(stack *manifest.Stack, item backend.LeaseItem) (manifest.Workload, error) {
	at, err := h.sized(item)
	if err != nil {
		return manifest.Workload{}, err
	}
	return stack.Workload(item, at)
}

// Provision implements backend.Backend.
func (h *Hosting) Provision(ctx context.Context, req backend.ProvisionRequest) error {
	if err := h.cfg.Target(req.CallbackURL); err != nil {
		return err
	}
	if err := backend.NormalizeProvisionRequest(&req); err != nil {
		return err
	}
	if err := h.mayBe(req.LeaseUUID); err != nil {
		return err
	}
	// The provider would refuse it later, when the lease is accepted.
	if err := secrets.CheckTenant(req.Tenant); err != nil {
		return fmt.Errorf("%w: the tenant's name is not of 1 to %d letters, digits and \"._-:@\"", backend.ErrValidation, secrets.MaxTenantBytes)
	}
	if err := h.domains(req.Items, backend.ErrValidation); err != nil {
		return err
	}
	if err := provisionable(h.rows.get(req.LeaseUUID).row, &req); err != nil {
		return err
	}
	instances, err := pool.Instances(req.LeaseUUID, req.Items, h.cfg.SKUs)
	if err != nil {
		return err
	}
	stack, err := h.stack(req.Payload, req.PayloadHash, req.Items)
	if err != nil {
		return err
	}
	leave, err := h.rows.turn(ctx, req.LeaseUUID)
	if err != nil {
		return err
	}
	defer leave()
	err = h.changeNow(ctx, req.LeaseUUID, func(r *row) (*row, error) {
		if err := provisionable(r, &req); err != nil {
			return nil, err
		}
		if err := h.admit(); err != nil {
			return nil, err
		}
		if err := h.reserve(pool.Holding{Lease: req.LeaseUUID, Tenant: req.Tenant, Instances: instances}); err != nil {
			return nil, err
		}
		next := h.begin(r, &req, stack)
		return next, h.rows.putManifest(ctx, req.LeaseUUID, next.Op.Version, req.Payload)
	})
	if err != nil && !h.rows.inDoubt(req.LeaseUUID) {
		h.settle(req.LeaseUUID, h.rows.get(req.LeaseUUID).row)
	}
	return err
}

// provisionable refuses to provision a lease that is there.
func provisionable(r *row, req *backend.ProvisionRequest) error {
	switch {
	case r == nil || r.Gone:
		return nil
	case r.Status != backend.ProvisionStatusFailed && r.Status != backend.ProvisionStatusFailing:
		return fmt.Errorf("lease %s is %s: %w", r.Lease, r.Status, backend.ErrAlreadyProvisioned)
	case r.Tenant != req.Tenant:
		return fmt.Errorf("%w: lease %s failed for another tenant", backend.ErrValidation, r.Lease)
	}
	return nil
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
		if next.served() != nil {
			next.Was = next.servedItems()
		}
		for i := range next.Releases { // what a new lease is made from is no update of it
			if next.Releases[i].Status == backend.ReleaseStatusActive {
				next.Releases[i].Status = backend.ReleaseStatusSuperseded
			}
		}
	}
	had := next.Items
	next.Tenant, next.ProviderUUID, next.Items, next.CallbackURL = req.Tenant, req.ProviderUUID, slices.Clone(req.Items), req.CallbackURL
	next.hope(had, now)
	next.Status = backend.ProvisionStatusProvisioning
	next.Workloads = newWorkloads(req.Items)
	h.nameSet(next)
	h.addRelease(next, stack)
	next.Op = &operation{
		ID: h.cfg.NewID(), Kind: opProvision, Version: next.Releases[len(next.Releases)-1].Version, Deadline: now.Add(h.cfg.Timing.Provision),
	}
	return next
}

// maxReleases bounds the releases of a lease, so that its row has a bound.
const maxReleases = 50

// addRelease notes a manifest that is to be deployed, and forgets the oldest ones that
// do not serve. Their manifests go when the change has come to its end.
func (h *Hosting) addRelease(r *row, stack *manifest.Stack) {
	version := 1
	if n := len(r.Releases); n > 0 {
		version = r.Releases[n-1].Version + 1
	}
	images, ports := make(map[string]string, len(stack.Services)), map[string]int{}
	for name, svc := range stack.Services {
		images[name] = svc.Image
		if port, ok := svc.RoutePort(); ok {
			ports[name] = port.Number
		}
	}
	r.Releases = append(r.Releases, release{
		Version: version, Status: backend.ReleaseStatusDeploying, CreatedAt: h.cfg.Now(), Images: images, Ports: ports,
	})
	for len(r.Releases) > maxReleases {
		oldest := slices.IndexFunc(r.Releases, func(rel release) bool { return rel.Status != backend.ReleaseStatusActive })
		r.Releases = slices.Delete(r.Releases, oldest, oldest+1)
	}
}
