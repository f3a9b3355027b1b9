package hosting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/provider"
)

// maxAttempts is how often a lease that closes tries to remove its volumes. After that
// it is closed, and the reaper goes on.
const maxAttempts = 3

// attemptWait is how long a lease waits after an attempt that failed.
func attemptWait(recheck time.Duration, attempts int) time.Duration { return recheck << (2 * attempts) }

// removeVolumes removes volumes of a tenant, each confirmed.
func (h *Hosting) removeVolumes(ctx context.Context, tenant string, ids []string) error {
	keeper := h.keeper()
	if keeper == nil && len(ids) > 0 {
		return fmt.Errorf("%w: the provider keeps no volumes any more", provider.ErrUnavailable)
	}
	for _, id := range ids {
		if err := h.removeVolume(ctx, keeper, tenant, id); err != nil {
			return fmt.Errorf("remove volume %s: %w", id, err)
		}
	}
	return nil
}

func (h *Hosting) removeVolume(ctx context.Context, keeper provider.VolumeKeeper, tenant, id string) error {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timing.Call)
	defer cancel()
	return keeper.RemoveKeptVolume(ctx, tenant, id)
}

// empty removes the volumes of a set that is being removed, and then its record: that
// stays until all bytes are gone. An attempt that the provider refused is counted.
func (h *Hosting) empty(ctx context.Context, id string) error {
	s, err := h.freshSet(ctx, id)
	if err != nil || s == nil {
		return err
	}
	if s.State != setReaping {
		return fmt.Errorf("the volumes %s are %s, and stay", id, s.State)
	}
	if err := h.removeVolumes(ctx, s.Tenant, s.volumes()); err != nil {
		if ctx.Err() != nil || !answered(err) {
			return err // nobody said that it cannot be done
		}
		_, counting := h.changeSet(ctx, id, func(s *set) (*set, error) {
			if s != nil {
				s.Attempts, s.TriedAt = s.Attempts+1, h.cfg.Now()
			}
			return s, nil
		})
		return errors.Join(err, counting)
	}
	if err := h.sets.drop(ctx, id, func(s *set) bool { return s.State == setReaping }); err != nil {
		return err
	}
	h.countSet(ctx, s, h.sets.get(id))
	return nil
}

// answered reports whether an error is what the provider says, and not that it says
// nothing.
func answered(err error) bool {
	return !errors.Is(err, provider.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded)
}

// spill removes the volumes that an operation made which failed, and those alone.
func (h *Hosting) spill(ctx context.Context, r *row) error {
	s, err := h.freshSet(ctx, r.Set)
	if err != nil || s == nil {
		return err
	}
	if !s.heldBy(r.Lease) {
		return errNotOwner
	}
	for _, one := range s.Slots {
		if one.Op == r.Spill {
			if err := h.removeVolumes(ctx, s.Tenant, one.ids(one.Was)); err != nil {
				return err
			}
		}
	}
	s, err = h.changeSet(ctx, r.Set, func(s *set) (*set, error) {
		if !s.heldBy(r.Lease) {
			return nil, errNotOwner
		}
		kept := s.Slots[:0]
		for _, one := range s.Slots {
			if one.Op == r.Spill {
				one.Op, one.Count = "", one.Was
			}
			if one.Count > 0 {
				kept = append(kept, one)
			}
		}
		s.Slots = kept
		return s, nil
	})
	if err != nil || len(s.Slots) > 0 {
		return err
	}
	return h.sets.drop(ctx, r.Set, func(s *set) bool { return s.heldBy(r.Lease) && len(s.Slots) == 0 })
}

// spills reports whether there is anything that spill would remove.
func (s *set) spills(op string) bool {
	if s == nil {
		return false
	}
	for _, one := range s.Slots {
		if one.Op == op {
			return true
		}
	}
	return len(s.Slots) == 0
}
