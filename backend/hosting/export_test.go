package hosting

import (
	"context"
	"slices"
	"time"

	"github.com/berth-cloud/berth/backend"

	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// MaxReleases is for tests.
const MaxReleases = maxReleases

// Busy reports whether any lease has something to do, or the reaper.
func (h *Hosting) Busy() bool {
	all, _ := h.rows.page("", 0)
	for _, r := range all {
		status := r.Status == "failing" || r.Status == "deprovisioning"
		for _, w := range r.Names.Wishes {
			if r.Status == "ready" && (w.State == wishRouting || w.State == wishWaits && w.Why == "") {
				return true
			}
		}
		if r.Op != nil || r.Gone || status || len(r.Pending)+len(r.Old) > 0 || r.Spill != "" {
			return true
		}
	}
	for _, s := range h.sets.all() {
		if s.State == setReaping || s.claimed() || s.State == setRetained && h.cfg.Retention.expired(s, h.cfg.Now()) {
			return true
		}
	}
	return len(h.rows.doubted())+len(h.sets.doubted()) > 0
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
		if held, _ := h.holding(r); held != nil {
			out[r.Lease] = held.Instances
		}
	}
	return out
}

// SeesRestart is what a restart that began at one look makes of another: whether the
// provider is to be told, and whether all containers are new.
func SeesRestart(from, now *provider.InstanceStatus, done bool) (wants, over bool) {
	op := &operation{From: map[string]origin{"app": {Stood: standing(from)}}, Done: map[string]bool{"app": done}}
	return op.wantsRestart("app", now), op.restarted("app", now)
}

// LeftMB is the disk that the records say was left, by record.
func (h *Hosting) LeftMB() map[string]int64 {
	out := map[string]int64{}
	for _, s := range h.sets.all() {
		if s.Left != nil {
			out[s.ID] = s.Left.DiskMB
		}
	}
	return out
}

// Left reports whether there is data of a lease that is no lease's yet.
func (h *Hosting) Left(lease string) bool { return h.sets.leftBy(lease) != nil }

// Claimed reports whether data of a lease is being restored.
func (h *Hosting) Claimed(lease string) bool {
	s := h.sets.leftBy(lease)
	return s != nil && s.claimed()
}

// Volumes are all records of volumes.
func (h *Hosting) Volumes() Volumes { return h.sets.all() }

// Volumes are some records of volumes.
type Volumes []*set

// Has reports whether there is one of a name, which was left if that is asked for.
func (v Volumes) Has(id string, left bool) bool {
	return slices.ContainsFunc(v, func(s *set) bool { return s.ID == id && (!left || s.Left != nil) })
}

// Names reports whether any has a volume, given with its tenant.
func (v Volumes) Names(volume string) bool {
	return slices.ContainsFunc(v, func(s *set) bool {
		return slices.ContainsFunc(s.volumes(), func(id string) bool { return s.Tenant+"/"+id == volume })
	})
}

// LeftLife is when the life of a lease began in which it left what would be restored of
// it now.
func (h *Hosting) LeftLife(lease string) time.Time {
	if s := h.sets.leftBy(lease); s != nil {
		return s.Left.CreatedAt
	}
	return time.Time{}
}

// First is the name of the first record.
func (v Volumes) First() string { return v[0].ID }

// Claim has a lease claim what is retained as it was known at a look.
func (h *Hosting) Claim(look Look, lease string) error {
	return h.claim(context.Background(), look.set, lease)
}

// Look is a set of volumes as it was.
type Look struct{ set *set }

// LookAt looks at what a lease left.
func (h *Hosting) LookAt(lease string) Look { return Look{h.sets.leftBy(lease)} }

// GiveBack ends the claim of a lease.
func (h *Hosting) GiveBack(look Look, lease string) error {
	return h.giveBack(context.Background(), look.set.ID, lease)
}

// EmptyAll tries to remove all volumes there are.
func (h *Hosting) EmptyAll() (failures int) {
	for _, s := range h.sets.all() {
		if h.empty(context.Background(), s.ID) != nil {
			failures++
		}
	}
	return failures
}

// Mounts tries to find a place for a service of a lease with the volumes of another.
func (h *Hosting) Mounts(lease, of, service, path string) error {
	r := h.rows.get(lease).row.clone()
	r.Set, r.Op = h.rows.get(of).row.Set, &operation{Paths: map[string][]string{service: {path}}}
	payload, err := h.rows.manifest(context.Background(), lease, h.rows.get(lease).row.manifestVersion())
	if err != nil {
		return err
	}
	stack, err := manifest.Parse(payload)
	if err != nil {
		return err
	}
	_, err = h.place(context.Background(), r, &world{stack: stack, disks: h.disks(r.Items)}, service)
	return err
}

// ErrNotOwner is for tests.
var ErrNotOwner = errNotOwner

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

// Explain is what a tenant reads of a workload that failed; the service is what it was to
// be, nil where nobody knows.
func Explain(st *provider.InstanceStatus, s *manifest.Service) (backend.Reason, string) {
	f := explain(st, "app", s)
	return f.Reason, f.Message
}

// Tried is how often it was tried to remove what a lease left.
func (h *Hosting) Tried(lease string) int {
	if s := h.sets.leftBy(lease); s != nil {
		return s.Attempts
	}
	return 0
}

// InDoubt reports whether it is not known of any row or set what was written last.
func (h *Hosting) InDoubt() bool { return len(h.rows.doubted())+len(h.sets.doubted()) > 0 }

// Said is what an operator reads of a workload.
func Said(st *provider.InstanceStatus) string { return said(st, "app") }
