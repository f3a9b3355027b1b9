package hosting

import (
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/pool"
)

// count puts what the leases hold into the pool.
func (h *Hosting) count() error {
	var found pool.Facts
	all, _ := h.rows.page("", 0)
	for _, r := range all {
		if !r.holds() {
			continue
		}
		instances, err := pool.Instances(r.Lease, r.Items, h.cfg.SKUs)
		if err != nil {
			// Its SKU is gone from the configuration. It runs on; a change is refused.
			h.cfg.Logger.Error("what a lease holds cannot be counted", "lease", r.Lease, "error", err)
			continue
		}
		found.Holdings = append(found.Holdings, pool.Holding{Lease: r.Lease, Tenant: r.Tenant, Instances: instances})
	}
	if err := h.cfg.Pool.Rebuild(found, nil); err != nil {
		return fmt.Errorf("count what leases hold: %w", err)
	}
	return nil
}

// holds reports whether a lease has its share of the pool: as long as something of it
// runs, or is to.
func (r *row) holds() bool {
	switch r.Status {
	case backend.ProvisionStatusFailed, backend.ProvisionStatusDeprovisioning:
		return len(r.Old)+len(r.Workloads) > 0
	}
	return !r.Gone
}

// reserve makes room for what a lease is to be, whatever it held. Its caller has the
// turn, and calls settle when nothing comes of it.
func (h *Hosting) reserve(lease, tenant string, instances []pool.Instance) error {
	err := h.cfg.Pool.Reserve(lease, tenant, instances)
	if errors.Is(err, backend.ErrAlreadyProvisioned) {
		err = h.cfg.Pool.Resize(lease, instances)
	}
	return err
}

// settle has a lease hold what its row says. Its caller has the turn.
func (h *Hosting) settle(lease string, r *row) {
	if r == nil || !r.holds() {
		h.cfg.Pool.Release(lease)
		return
	}
	instances, err := pool.Instances(lease, r.Items, h.cfg.SKUs)
	if err == nil {
		err = h.reserve(lease, r.Tenant, instances)
	}
	if err != nil { // it runs on; the next start counts it
		h.cfg.Logger.Error("what a lease holds cannot be counted", "lease", lease, "error", err)
	}
}
