package rollout

import (
	"context"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Rollback begins the return to a release of this workload that served before, all
// of it; nil means the last one that served before the present. A release that the
// workload never had, or no longer keeps, is provider.ErrNotFound; one that never served
// is provider.ErrConflict: a deploy of its content is how to try it again. While
// that same rollback is under way it returns it, and while another rollout is a
// BusyError.
func (m *Manager) Rollback(ctx context.Context, workload, release id.ID, with With) (*Result, error) {
	if err := with.validate(); err != nil {
		return nil, err
	}
	rec, _, err := m.load(ctx, workload)
	if err != nil {
		return nil, err
	}
	seen, err := rec.rollbackTo(release)
	if err != nil {
		return nil, err
	}
	ro := seen.id()
	if seen == nil {
		if err := m.deployable(ctx, rec, ""); err != nil {
			return nil, err
		}
		rec, err = m.update(ctx, workload, func(rec *record) error {
			seen, err := rec.rollbackTo(release)
			if err != nil {
				return err
			}
			if ro = seen.id(); seen != nil {
				return errNoChange
			}
			rel, err := rec.restorable(release)
			if err != nil {
				return err
			}
			open := m.begin(rec, rel, KindRollback, with)
			open.Restore, ro = true, open.ID
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if rec.Open == ro {
		return m.follow(ctx, workload, ro, with)
	}
	return resultOf(rec, ro)
}

// rollbackTo is the open rollout when it is this very rollback, nil when one may
// begin.
func (r *record) rollbackTo(release id.ID) (*Rollout, error) {
	rel, err := r.restorable(release)
	if open := r.open(); err == nil && open != nil && open.Kind == KindRollback && open.Release == rel.ID && !open.CancelWanted {
		return open, nil
	}
	if busy := r.idle(); busy != nil {
		return nil, busy
	}
	return nil, err
}

// restorable finds a release to return to.
func (r *record) restorable(release id.ID) (*Release, error) {
	if release.IsNil() {
		return r.servedBefore()
	}
	rel := r.release(release)
	if rel == nil {
		return nil, fmt.Errorf("%w: workload %s has no release %s", provider.ErrNotFound, r.Workload, release)
	}
	if rel.ServedAt == nil {
		return nil, fmt.Errorf("%w: release %d of workload %s never served", provider.ErrConflict, rel.Version, r.Workload)
	}
	return rel, nil
}

// servedBefore is the release that served before the present one.
func (r *record) servedBefore() (*Release, error) {
	for _, ro := range slices.Backward(r.Rollouts) {
		if ro.State != StateSucceeded || ro.Release == r.Current {
			continue
		}
		if rel := r.release(ro.Release); rel != nil {
			return rel, nil
		}
	}
	return nil, fmt.Errorf("%w: workload %s had no release before the present one", provider.ErrNotFound, r.Workload)
}
