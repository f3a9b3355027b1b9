package hosting

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/backend"
)

// VolumeSet is the volumes of one lease and whose they are.
type VolumeSet struct {
	ID     string
	Tenant string
	// State is held, retained, restoring or reaping: restoring is held by a lease that
	// gives it back unless it comes to be ready, and of one that is reaping the volumes
	// are being removed.
	State string
	// Owner is the lease that holds it; "" while none does.
	Owner string
	// DiskMB is what is counted for it.
	DiskMB  int64
	Volumes []Volume // by service, directory and index

	// Of the lease that left it, while it is not held for good.
	Left        string
	LeftCreated time.Time // when that lease was
	LeftAt      time.Time
	Items       []backend.LeaseItem
	// Until is when it is given up, unless it is restored; zero is never.
	Until time.Time

	// Attempts counts the removals that failed, and TriedAt is when the last one did.
	Attempts int
	TriedAt  time.Time
}

// Volume is one of a set.
type Volume struct {
	ID      string // at the provider
	Service string
	Path    string
	Index   int
}

// States of a VolumeSet that are none of the record's own.
const setRestoring = "restoring"

func (h *Hosting) inspectSet(s *set) VolumeSet {
	out := VolumeSet{
		ID: s.ID, Tenant: s.Tenant, State: string(s.State), Owner: s.Owner, DiskMB: s.DiskMB, Attempts: s.Attempts, TriedAt: s.TriedAt,
	}
	if s.claimed() {
		out.State = setRestoring
	}
	if s.Left != nil {
		out.Left, out.LeftCreated, out.LeftAt, out.Items, out.DiskMB = s.Left.Lease, s.Left.CreatedAt, s.Left.At, slices.Clone(s.Left.Items), s.Left.DiskMB
	}
	if s.State == setRetained {
		out.Until = h.cfg.Retention.until(s)
	}
	for _, one := range s.Slots {
		for i, id := range one.ids(0) {
			out.Volumes = append(out.Volumes, Volume{ID: id, Service: one.Service, Path: one.Path, Index: i})
		}
	}
	slices.SortFunc(out.Volumes, func(a, b Volume) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Index, b.Index))
	})
	return out
}

// volumesOf are the sets that a lease holds or left, the one that it holds first.
func (h *Hosting) volumesOf(lease string, r *row) []VolumeSet {
	var out []VolumeSet
	if r != nil {
		if s := h.sets.get(r.Set); s.heldBy(lease) {
			out = append(out, h.inspectSet(s))
		}
	}
	for _, s := range h.sets.allLeftBy(lease) {
		out = append(out, h.inspectSet(s))
	}
	return out
}

// Retained is what leases left of volumes: what is retained, what is being restored, and
// what is being removed. It is by id, from after the one named on ("" is all), and at most
// limit (0: all) of them; more says whether there are others.
func (h *Hosting) Retained(after string, limit int) (sets []VolumeSet, more bool) {
	for _, s := range h.sets.all() {
		if s.Left == nil || s.ID <= after {
			continue
		}
		if limit > 0 && len(sets) == limit {
			return sets, true
		}
		sets = append(sets, h.inspectSet(s))
	}
	return sets, false
}

// allLeftBy are the sets that a lease left, the last one first.
func (s *sets) allLeftBy(lease string) []*set {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []*set
	for _, id := range s.left[lease] {
		out = append(out, s.known[id].set)
	}
	slices.SortFunc(out, func(a, b *set) int {
		if a.after(b) {
			return -1
		}
		return 1
	})
	return out
}

// leavers are the leases that left volumes.
func (s *sets) leavers(prefix string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []string
	for lease := range s.left {
		if strings.HasPrefix(lease, prefix) {
			out = append(out, lease)
		}
	}
	return out
}

// matching are the leases of which there is a diagnosis.
func (d *diagnoses) matching(prefix string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for lease := range d.since {
		if strings.HasPrefix(lease, prefix) {
			out = append(out, lease)
		}
	}
	return out
}

// inspectGone is a lease without a row, as what is kept of it says; nil is that nothing
// is.
func (h *Hosting) inspectGone(ctx context.Context, lease string) (*Inspection, error) {
	out := &Inspection{Volumes: h.volumesOf(lease, nil)}
	left := h.sets.leftBy(lease)
	if left != nil {
		out.CallbackOrigin = schemeAndHost(left.Left.CallbackURL)
	}
	if kept := h.retainedInfo(lease); kept != nil {
		out.Lease = *kept
		return out, nil
	}
	out.Gone = true
	d, err := h.diagnosis(ctx, lease)
	switch {
	case err != nil:
		return nil, err
	case d != nil:
		out.Lease, out.Said = *d.info(h.cfg.Name), d.Said
	case left != nil: // all of it is being removed
		out.Lease = backend.ProvisionInfo{
			LeaseUUID: lease, ProviderUUID: left.ProviderUUID, Status: backend.ProvisionStatusDeprovisioning, CreatedAt: left.Left.CreatedAt,
			BackendName: h.cfg.Name, Tenant: left.Tenant,
		}
		describeItems(&out.Lease, left.Left.Items, left.Left.Images)
	default:
		return nil, unknown(lease)
	}
	return out, nil
}

// Domain is a custom domain that a service has, or is to have.
type Domain struct {
	Service string
	Name    string
	// State is served, or how far one is that is asked for: waits (to resolve), routing
	// (it does, and is on its way to the data plane) or refused.
	State string
	// Why it is not served, in words for its tenant; "" where it is.
	Why string
	// Since is when it was asked for, and Again when it is looked at again, or may be asked
	// for anew. Both are zero of one that is served.
	Since, Again time.Time
}

// domainServed is the State of one that nobody has to wish for any more.
const domainServed = "served"

// domainsOf are by item: the one that a service has, and then the one that it is to have.
func (h *Hosting) domainsOf(r *row) []Domain {
	var out []Domain
	for _, item := range r.Items {
		if item.CustomDomain != "" {
			one := Domain{Service: item.ServiceName, Name: item.CustomDomain, State: domainServed}
			if h.cfg.Ingress == nil {
				one.State, one.Why = string(wishWaits), "this backend routes no domains"
			} else if h.cfg.Ingress.Router.Host(item.CustomDomain, routeName(r.Lease, item.ServiceName, every)) == Refused {
				one.State, one.Why = string(wishRefused), whyTaken
			}
			out = append(out, one)
		}
		if w, wished := r.Names.Wishes[item.ServiceName]; wished {
			out = append(out, Domain{Service: item.ServiceName, Name: w.Domain, State: string(w.State), Why: w.Why, Since: w.Since, Again: w.Again})
		}
	}
	return out
}
