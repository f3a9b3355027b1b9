package hosting

import (
	"context"
	"time"

	"github.com/berth-cloud/berth/backend"

	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/id"
)

// MaxReleases is for tests.
const MaxReleases = maxReleases

// Busy reports whether any lease has something to do.
func (h *Hosting) Busy() bool {
	all, _ := h.rows.page("", 0)
	for _, r := range all {
		status := r.Status == "failing" || r.Status == "deprovisioning"
		for _, w := range r.Names.Wishes {
			if r.Status == "ready" && (w.State == wishRouting || w.State == wishWaits && w.Why == "") {
				return true
			}
		}
		if r.Op != nil || r.Gone || status || len(r.Pending)+len(r.Old) > 0 {
			return true
		}
	}
	return len(h.rows.doubted()) > 0
}

// BuryLate has a Step bury a lease that is gone, after something else came between.
func (h *Hosting) BuryLate(ctx context.Context, lease string, between func()) error {
	k := h.rows.get(lease)
	between()
	return h.bury(ctx, k)
}

// Workloads are those of a lease, with those that are to go.
func (h *Hosting) Workloads(lease string) []id.ID {
	var out []id.ID
	if r := h.rows.get(lease).row; r != nil {
		r.eachWorkload(func(w id.ID) { out = append(out, w) })
	}
	return out
}

// Held is what the rows say that leases hold.
func (h *Hosting) Held() map[string][]pool.Instance {
	out := map[string][]pool.Instance{}
	all, _ := h.rows.page("", 0)
	for _, r := range all {
		if r.holds() {
			out[r.Lease], _ = pool.Instances(r.Lease, r.Items, h.cfg.SKUs)
		}
	}
	return out
}

// CheckIngress is what Open says of an ingress.
func CheckIngress(g *Ingress) error { return g.check() }

// RoutesOfTwins are the routes of two rows, of which the names have one hash: they are
// of one lease.
func (g *Ingress) RoutesOfTwins(lease string) []Route {
	twin := func(age int) *row {
		return &row{
			Lease: lease, CreatedAt: time.Unix(int64(age), 0), Status: backend.ProvisionStatusReady, Items: []backend.LeaseItem{{ServiceName: "app", Quantity: 1}},
			Releases: []release{{Version: 1, Status: backend.ReleaseStatusActive, Ports: map[string]int{"app": 80}}},
		}
	}
	a, b := twin(1), twin(2)
	return g.routes([]*row{b, a})
}
