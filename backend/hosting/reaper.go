package hosting

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Reaper is the key, among those of leases, by which Step looks after volumes that no
// lease holds. No lease has it as its name.
const Reaper = "reaper"

// maxReaped bounds the sets of which one Step removes the volumes.
const maxReaped = 16

// sweep gives up what was retained for long enough, removes the volumes of what was
// given up, and gives back what a request left in the middle. It says when to come
// again.
func (h *Hosting) sweep(ctx context.Context) (time.Duration, error) {
	again := h.cfg.Timing.Reap
	var failures []error
	failed := func(id string, err error) {
		if err != nil {
			failures = append(failures, fmt.Errorf("volumes %s: %w", id, err))
		}
	}
	for _, id := range h.sets.doubted() {
		_, err := h.freshSet(ctx, id)
		failed(id, err)
	}
	reaped := 0
	for _, s := range h.sets.all() {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		var err error
		switch {
		case s.State == setHeld:
			failed(s.ID, h.reclaim(ctx, s))
			continue
		case s.State == setRetained && h.cfg.Retention.expired(s, h.cfg.Now()):
			id := s.ID
			if s, err = h.condemn(ctx, id); err != nil || s == nil {
				failed(id, err)
				continue
			}
		case s.State == setRetained:
			if until := h.cfg.Retention.until(s); !until.IsZero() {
				again = sooner(again, until.Sub(h.cfg.Now()))
			}
		}
		if s.State != setReaping || h.closing(s) {
			continue
		}
		if s.Attempts >= maxAttempts && h.cfg.Now().Before(s.TriedAt.Add(h.cfg.Timing.Reap)) {
			continue // it is tried with the next sweep but one at the latest
		}
		if reaped == maxReaped {
			again = soon
			break
		}
		reaped++
		if err := h.empty(ctx, s.ID); err != nil {
			failed(s.ID, err)
			again = sooner(again, h.cfg.Timing.Recheck)
		}
	}
	next, err := h.forgetDiagnoses(ctx)
	return sooner(again, next), errors.Join(append(failures, err)...)
}

// closing reports whether the lease that left a set is still there to remove it.
func (h *Hosting) closing(s *set) bool {
	r := h.rows.get(s.Left.Lease).row
	return r != nil && !r.Gone && r.Set == s.ID
}

// reclaim takes a set from a lease that does not know of it: a request that was to
// restore it came to nothing. The lease's row, read in its turn, has to say so.
func (h *Hosting) reclaim(ctx context.Context, s *set) error {
	if h.names(h.rows.get(s.Owner).row, s.ID) && !h.rows.inDoubt(s.Owner) {
		return nil
	}
	leave, err := h.rows.turn(ctx, s.Owner)
	if err != nil {
		return err
	}
	defer leave()
	k, err := h.fresh(ctx, s.Owner)
	if err != nil || h.names(k.row, s.ID) {
		return err
	}
	if !s.claimed() { // no crash makes this; somebody has changed the store
		h.cfg.Logger.ErrorContext(ctx, "volumes are held by a lease that does not know of them, and stay", "volumes", s.ID, "lease", s.Owner)
		return nil
	}
	h.cfg.Logger.WarnContext(ctx, "volumes go back from a lease that was not accepted", "volumes", s.ID, "lease", s.Owner)
	return h.giveBack(ctx, s.ID, s.Owner)
}

// names reports whether a lease knows a set as its own.
func (h *Hosting) names(r *row, id string) bool { return r != nil && r.Set == id && !r.Gone }
