package hosting

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/provider"
)

// Retention is what becomes of the volumes of a lease that is given up. The zero value
// removes them.
type Retention struct {
	// OnClose keeps the volumes of a lease that was ready once, so that they may be
	// restored to another lease of its tenant.
	OnClose bool
	// Grace is for how long they are kept; 0 is for ever.
	Grace time.Duration
	// MaxPerTenant is how many leases a tenant may have retained: where there are more
	// the oldest ones are removed. 0 is no limit.
	MaxPerTenant int
	// MaxTenantMB and MaxTotalMB are how much disk may be retained of a tenant and in
	// all: a lease that would go beyond is not retained. 0 is no limit.
	MaxTenantMB, MaxTotalMB int64
}

// maxEvictions bounds what one lease that closes may push out.
const maxEvictions = 32

// admits says whether a lease that leaves diskMB may be retained, and which sets have to
// go for it: the oldest of the tenant. Nothing has to go for one that is not retained
// after all. What is being restored is on its way out and counts as disk alone.
func (p Retention) admits(all []*set, tenant string, diskMB int64) (evicted []*set, ok bool) {
	var own []*set
	var tenantMB, totalMB int64
	for _, s := range all {
		if s.Left == nil || s.State == setReaping {
			continue
		}
		totalMB += s.Left.DiskMB
		if s.Tenant != tenant {
			continue
		}
		tenantMB += s.Left.DiskMB
		if s.State == setRetained {
			own = append(own, s)
		}
	}
	slices.SortFunc(own, func(a, b *set) int {
		return cmp.Or(a.Left.At.Compare(b.Left.At), strings.Compare(a.Left.Lease, b.Left.Lease))
	})
	if p.MaxPerTenant > 0 {
		many := min(len(own)+1-p.MaxPerTenant, len(own), maxEvictions)
		for _, s := range own[:max(many, 0)] {
			evicted = append(evicted, s)
			tenantMB, totalMB = tenantMB-s.Left.DiskMB, totalMB-s.Left.DiskMB
		}
	}
	if p.MaxTenantMB > 0 && tenantMB+diskMB > p.MaxTenantMB || p.MaxTotalMB > 0 && totalMB+diskMB > p.MaxTotalMB {
		return nil, false
	}
	return evicted, true
}

// until is when a set is given up; zero is never.
func (p Retention) until(s *set) time.Time {
	if p.Grace <= 0 || s.Left == nil {
		return time.Time{}
	}
	return s.Left.At.Add(p.Grace)
}

// expired reports whether a set that is retained has been so for long enough.
func (p Retention) expired(s *set, now time.Time) bool {
	until := p.until(s)
	return !until.IsZero() && !now.Before(until)
}

// capsTurn is the turn of whoever decides about what is retained, so that no two go by
// the same room.
const capsTurn = "caps"

// giveUp takes the volumes from a lease whose workloads are gone. From a restore that has
// not succeeded they go back to where they were; else they are retained, or begin to be
// removed. The lease's Steps are the only ones that do this to it.
func (h *Hosting) giveUp(ctx context.Context, r *row) error {
	leave, err := h.sets.turns.take(ctx, capsTurn)
	if err != nil {
		return err
	}
	defer leave()
	s, err := h.freshSet(ctx, r.Set)
	if err != nil || !s.heldBy(r.Lease) {
		return err
	}
	if s.claimed() && r.served() == nil {
		return h.giveBack(ctx, r.Set, r.Lease)
	}
	left := h.leaving(r, s)
	next := setReaping
	if h.cfg.Retention.OnClose && r.served() != nil && len(s.Slots) > 0 {
		if evicted, ok := h.cfg.Retention.admits(h.sets.all(), r.Tenant, left.DiskMB); ok {
			next = setRetained
			if err := h.makeWay(ctx, evicted, r); err != nil {
				return err
			}
		}
	}
	_, err = h.changeSet(ctx, r.Set, func(s *set) (*set, error) {
		if !s.heldBy(r.Lease) {
			return nil, errNotOwner
		}
		s.State, s.Owner, s.Left, s.Attempts, s.TriedAt = next, "", left, 0, time.Time{}
		return s, nil
	})
	if err == nil {
		h.hub.Tell(Reaper)
	}
	return err
}

// makeWay has what a lease pushes out removed, and keeps its manifest.
func (h *Hosting) makeWay(ctx context.Context, evicted []*set, r *row) error {
	for _, s := range evicted {
		if _, err := h.condemn(ctx, s.ID); err != nil {
			return err
		}
	}
	payload, err := h.rows.manifest(ctx, r.Lease, r.served().Version)
	if errors.Is(err, provider.ErrNotFound) {
		// The data is worth more than what it was made by.
		h.cfg.Logger.ErrorContext(ctx, "a lease is retained without its manifest", "lease", r.Lease, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	return h.sets.putManifest(ctx, r.Set, payload)
}

// condemn begins to remove what is retained, unless somebody restores it. What it
// returns is the set as it is then.
func (h *Hosting) condemn(ctx context.Context, id string) (*set, error) {
	return h.changeSet(ctx, id, func(s *set) (*set, error) {
		if s == nil || s.State != setRetained {
			return nil, nil
		}
		s.State, s.Attempts, s.TriedAt = setReaping, 0, time.Time{}
		return s, nil
	})
}

// giveBack ends a restore that has not succeeded: what was retained is retained as
// before.
func (h *Hosting) giveBack(ctx context.Context, id, lease string) error {
	_, err := h.changeSet(ctx, id, func(s *set) (*set, error) {
		if !s.heldBy(lease) || !s.claimed() {
			return nil, nil
		}
		s.State, s.Owner = setRetained, ""
		s.Generation++
		return s, nil
	})
	return err
}

// leaving is what is remembered of a lease that leaves its volumes.
func (h *Hosting) leaving(r *row, s *set) *leaving {
	l := &leaving{
		Lease: r.Lease, CreatedAt: r.CreatedAt, At: h.cfg.Now(), Turn: h.sets.nextTurn(r.Lease), Items: r.servedItems(), CallbackURL: r.CallbackURL,
		DiskMB: max(s.DiskMB, h.diskMB(r)), Disks: h.disks(r.servedItems()),
	}
	if rel := r.served(); rel != nil {
		l.Images = rel.Images
	}
	return l
}
