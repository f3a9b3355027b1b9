package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// maxMoves bounds one Step. A rollout moves at most through four phases; what is
// beyond is other writers.
const maxMoves = 16

// Step makes one pass for the open rollout of a workload: it does what can be done
// now and waits for nothing but the calls it makes. The answer is after how much
// time to come again at the latest; zero means that nothing is open. It is how an
// engine drives rollouts by key. After an error the caller comes again with a
// backoff of its own; a provider's errors are recorded and are none of Step.
//
// Steps of one workload in one process take turns.
func (m *Manager) Step(ctx context.Context, workload id.ID) (time.Duration, error) {
	unlock, err := m.locks.lock(ctx, workload)
	if err != nil {
		return 0, err
	}
	defer unlock()
	for range maxMoves {
		rec, _, err := m.load(ctx, workload)
		if errors.Is(err, provider.ErrNotFound) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if rec.Removing {
			return 0, m.remove(ctx, rec)
		}
		ro := rec.open()
		if ro == nil {
			return 0, nil
		}
		wait, err := m.pass(ctx, rec, ro)
		switch {
		case errors.Is(err, errMoved):
		case err != nil:
			return 0, fmt.Errorf("rollout %s of workload %s: %w", ro.ID, workload, err)
		case wait > 0:
			return wait, nil
		}
	}
	return firstRetry, nil
}

// pass does what is next for ro. Zero without an error means that it moved on and
// the next pass may follow at once.
func (m *Manager) pass(ctx context.Context, rec *record, ro *Rollout) (time.Duration, error) {
	if ro.CancelWanted && ro.Undoing == "" {
		return 0, m.cancel(ctx, rec, ro)
	}
	switch ro.Phase {
	case "":
		if m.late(ro.Deadline) {
			return 0, m.finish(ctx, ro, StateFailed, func(_ *record, r *Rollout) {
				r.Untouched, r.Failure = true, failureOf(fmt.Errorf("%w: nobody began before the deadline", provider.ErrNotReady))
			})
		}
		return 0, m.move(ctx, ro, func(_ *record, r *Rollout) {
			now := m.now()
			r.State, r.StartedAt = StateRunning, &now
			r.setServices(StateRunning)
			m.intend(r, PhaseApply, r.Deadline, fmt.Sprintf("ask for release %d", r.ReleaseVersion))
		})
	case PhaseApply, PhaseUndo:
		return m.passApply(ctx, rec, ro)
	case PhaseAwait, PhaseUndoAwait:
		return m.passAwait(ctx, rec, ro)
	default:
		return 0, fmt.Errorf("%w: phase %q", ErrRecord, ro.Phase)
	}
}

func (m *Manager) late(deadline time.Time) bool { return !m.now().Before(deadline) }

// maxJournal is how many intents a record keeps.
const maxJournal = 32

// intend writes down the phase that comes next.
func (m *Manager) intend(r *Rollout, phase Phase, until time.Time, note string) {
	r.Phase, r.Until, r.Attempts, r.RetryAt, r.LastError = phase, &until, 0, nil, nil
	r.Journal = append(r.Journal, Entry{At: m.now(), Phase: phase, Note: note})
	if over := len(r.Journal) - maxJournal; over > 0 {
		r.Journal = r.Journal[over:]
	}
}

// move writes the next state of a rollout, unless it is no longer as the decision
// saw it: then it is errMoved, and nothing that another wrote is lost.
func (m *Manager) move(ctx context.Context, seen *Rollout, change func(*record, *Rollout)) error {
	_, err := m.update(ctx, seen.Workload, func(rec *record) error {
		ro := rec.open()
		if ro == nil || !ro.same(seen) {
			return errMoved
		}
		change(rec, ro)
		ro.Moves++
		return nil
	})
	if errors.Is(err, provider.ErrNotFound) {
		return errMoved
	}
	return err
}

// same reports whether r is where seen was.
func (r *Rollout) same(seen *Rollout) bool {
	return r.ID == seen.ID && r.Moves == seen.Moves
}

// finish ends a rollout.
func (m *Manager) finish(ctx context.Context, seen *Rollout, state State, change func(*record, *Rollout)) error {
	return m.move(ctx, seen, func(rec *record, r *Rollout) {
		change(rec, r)
		if state == StateSucceeded {
			m.succeed(rec, r)
			return
		}
		m.end(rec, r, state)
	})
}

// end writes down that nothing more happens to a rollout.
func (m *Manager) end(rec *record, r *Rollout, state State) {
	now := m.now()
	r.State, r.Phase, r.EndedAt, r.Until, r.RetryAt = state, "", &now, nil, nil
	rec.Open = id.Nil
	if state != StateSucceeded {
		r.setServices(state)
	}
}

// succeed makes the release of a rollout the current one.
func (m *Manager) succeed(rec *record, r *Rollout) {
	m.end(rec, r, StateSucceeded)
	r.LastError, r.Attempts = nil, 0
	r.setServices(StateSucceeded)
	replicas := rec.size(provider.ResourceSpec{}).Replicas
	rec.Current, rec.Scaled = r.Release, nil
	rel := rec.release(r.Release)
	if rel == nil {
		return
	}
	if rel.Ref = r.Ref; rel.ServedAt == nil {
		rel.ServedAt = r.EndedAt
	}
	if r.Kind == KindRollback && rec.replicas(rel) != replicas {
		rec.Scaled = &provider.ResourceSpec{Replicas: replicas}
	}
}

// setServices puts every service into a state and keeps the messages of those
// that failed.
func (r *Rollout) setServices(state State) {
	next := make(map[string]Progress, len(r.Services))
	for name, p := range r.Services {
		if state == StateSucceeded || state == StateRunning {
			p.Message = ""
		}
		p.State = state
		next[name] = p
	}
	r.Services = next
}

// cancel does what somebody wanted.
func (m *Manager) cancel(ctx context.Context, rec *record, ro *Rollout) error {
	if ro.Phase == "" || rec.release(ro.Base) == nil {
		return m.finish(ctx, ro, StateCancelled, func(_ *record, r *Rollout) { r.Untouched = r.Phase == "" })
	}
	return m.undo(ctx, rec, ro, StateCancelled, nil)
}

// lose ends a rollout that cannot succeed, by way of the release before where
// there is one. untouched means that the provider changed nothing.
func (m *Manager) lose(ctx context.Context, rec *record, ro *Rollout, cause error, untouched bool) error {
	if untouched || m.opts.Policy.KeepFailed || rec.release(ro.Base) == nil {
		return m.finish(ctx, ro, StateFailed, func(_ *record, r *Rollout) {
			r.Failure, r.Untouched = failureOf(cause), untouched
		})
	}
	return m.undo(ctx, rec, ro, StateRolledBack, cause)
}

// undo begins the way back.
func (m *Manager) undo(ctx context.Context, rec *record, ro *Rollout, to State, cause error) error {
	base := rec.release(ro.Base)
	return m.move(ctx, ro, func(_ *record, r *Rollout) {
		r.Undoing, r.Asked = to, 0
		if cause != nil {
			r.Failure = failureOf(cause)
		}
		m.intend(r, PhaseUndo, m.now().Add(m.opts.Policy.UndoDeadline), fmt.Sprintf("return to release %d", base.Version))
	})
}

// loseUndo ends a rollout whose way back failed too.
func (m *Manager) loseUndo(ctx context.Context, ro *Rollout, cause error) error {
	return m.finish(ctx, ro, StateFailed, func(_ *record, r *Rollout) { r.UndoFailure = failureOf(cause) })
}
