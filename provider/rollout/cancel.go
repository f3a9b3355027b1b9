package rollout

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Cancel records that a rollout is not wanted any more. Whoever drives it sees
// that before its next step, also after a crash, and returns to the release that served
// before. A first rollout has none to return to: the instance is left as it is, for
// Deprovision.
//
// It succeeds again for a rollout that is or was cancelled; one that ended
// otherwise is provider.ErrConflict. One that is already on its way back because it failed ends
// as StateRolledBack.
func (m *Manager) Cancel(ctx context.Context, workload, rollout id.ID) (*Rollout, error) {
	rec, err := m.update(ctx, workload, func(rec *record) error {
		ro := rec.rollout(rollout)
		switch {
		case ro == nil:
			return fmt.Errorf("%w: rollout %s of workload %s", provider.ErrNotFound, rollout, workload)
		case ro.State == StateCancelled || !ro.Ended() && ro.CancelWanted:
			return errNoChange
		case ro.Ended():
			return fmt.Errorf("%w: rollout %s has ended: %s", provider.ErrConflict, rollout, ro.State)
		}
		ro.CancelWanted = true
		ro.Moves++
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rec.rollout(rollout), nil
}
