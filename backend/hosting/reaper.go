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
	var failures []error
	for _, id := range h.sets.doubted() {
		if _, err := h.freshSet(ctx, id); err != nil {
			failures = append(failures, err)
		}
	}
	again := h.cfg.Timing.Reap
	for _, s := range h.sets.all() {
		var err error
		switch until := h.cfg.Retention.until(s); {
		case s.State == setHeld:
			err = h.reclaim(ctx, s)
		case s.State != setRetained:
		case h.cfg.Retention.expired(s, h.cfg.Now()):
			_, err = h.condemn(ctx, s.ID)
		case !until.IsZero():
			again = sooner(again, until.Sub(h.cfg.Now()))
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("volumes %s: %w", s.ID, err))
		}
	}
	reaped, err := h.reap(ctx)
	next, forgetting := h.forgetDiagnoses(ctx)
	return sooner(sooner(again, reaped), next), errors.Join(append(failures, err, forgetting)...)
}

// reap removes the volumes of what was given up, of a few sets in one go. It says when
// there is more to do; a provider that does not answer is left alone until then.
func (h *Hosting) reap(ctx context.Context) (time.Duration, error) {
	var again time.Duration
	var failures []error
	reaped := 0
	for _, s := range h.sets.all() {
		tried := s.Attempts >= maxAttempts && since(s.TriedAt, h.cfg.Now()) < h.cfg.Timing.Reap
		if s.State != setReaping || h.closing(s) || tried {
			continue
		}
		if reaped == maxReaped {
			return soon, errors.Join(failures...)
		}
		reaped++
		err := h.empty(ctx, s.ID)
		if err == nil {
			continue
		}
		failures = append(failures, fmt.Errorf("volumes %s: %w", s.ID, err))
		again = h.cfg.Timing.Recheck
		if ctx.Err() != nil || !answered(err) {
			break
		}
	}
	return again, errors.Join(failures...)
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
