package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// passAwait looks whether a release that was accepted is ready. It looks before it
// minds the time: what became ready while nobody was there has succeeded.
func (m *Manager) passAwait(ctx context.Context, rec *record, ro *Rollout) (time.Duration, error) {
	want := ro.Ref
	if ro.Phase == PhaseUndoAwait {
		if base := rec.release(ro.Base); base != nil {
			want = base.Ref
		}
	}
	st, next, err := m.look(ctx, rec)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	late := ro.Until != nil && m.late(*ro.Until)
	switch {
	case errors.Is(err, errGone):
		return 0, m.fail(ctx, rec, ro, err, false)
	case err != nil && late:
		return 0, m.fail(ctx, rec, ro, fmt.Errorf("%w in time; the last look failed: %w", provider.ErrNotReady, err), false)
	case err != nil:
		return next, nil
	case !st.TargetReleaseID.IsNil() && st.TargetReleaseID != want:
		return m.again(ctx, rec, ro, st.TargetReleaseID)
	case st.State == provider.StateFailed:
		return 0, m.fail(ctx, rec, ro, fmt.Errorf("%w: %s", provider.ErrNotReady, describe(st)), false)
	case st.Ready && ro.Undoing != "":
		return 0, m.finish(ctx, ro, ro.Undoing, func(*record, *Rollout) {})
	case st.Ready:
		return 0, m.finish(ctx, ro, StateSucceeded, func(*record, *Rollout) {})
	case late:
		return 0, m.fail(ctx, rec, ro, fmt.Errorf("%w in time; last seen %s", provider.ErrNotReady, describe(st)), false)
	}
	if ro.Until != nil {
		next = min(next, ro.Until.Sub(m.now()))
	}
	return max(next, time.Millisecond), m.note(ctx, ro, want, st)
}

// errGone means that the provider, which is to advance the instance, does not know
// it.
var errGone = fmt.Errorf("%w: the instance is gone", provider.ErrNotFound)

// look advances the instance where that is ours to do, and reads its status.
func (m *Manager) look(ctx context.Context, rec *record) (*provider.InstanceStatus, time.Duration, error) {
	interval := provider.DefaultReadinessInterval
	ctx, p, err := m.providers.Acquire(ctx, rec.Provider)
	if err != nil {
		return nil, interval, err
	}
	ctx, cancel := m.call(ctx)
	defer cancel()
	interval = m.interval(p)
	next := interval
	if stepper, ok := p.(provider.Stepper); ok {
		after, err := stepper.Step(ctx, rec.Workload)
		if errors.Is(err, provider.ErrNotFound) {
			return nil, next, fmt.Errorf("%w: %w", errGone, err)
		}
		if err != nil {
			return nil, min(firstRetry, interval), err
		}
		if after > 0 {
			next = min(after, interval)
		}
	}
	st, err := p.Status(ctx, rec.Workload)
	if err == nil && st == nil {
		err = errors.New("the provider returned no status")
	}
	return st, next, err
}

// interval is how often to look.
func (m *Manager) interval(p provider.Provider) time.Duration {
	if w, ok := p.(provider.ReadinessWaiter); ok {
		return positive(w.ReadinessPolicy().Interval, provider.DefaultReadinessInterval)
	}
	return provider.DefaultReadinessInterval
}

// again asks anew for a release that the provider does not pursue, because a call
// that came late from elsewhere took its place. A deploy is asked for under another id:
// the one before is used up. How often it does is bounded by MaxAttempts.
func (m *Manager) again(ctx context.Context, rec *record, ro *Rollout, target id.ID) (time.Duration, error) {
	if ro.Asked+1 >= m.opts.Policy.MaxAttempts {
		return 0, m.fail(ctx, rec, ro, fmt.Errorf("%w: the provider pursues release %s", provider.ErrConflict, target), false)
	}
	return 0, m.move(ctx, ro, func(_ *record, r *Rollout) {
		until := r.Deadline
		switch {
		case r.Undoing != "":
			until = *r.Until
		case r.Kind == KindDeploy && !r.Restore:
			r.Ref = m.opts.NewID(id.KindRelease)
		}
		r.Asked++
		m.intend(r, r.Phase.apply(), until, "the provider pursues another release; ask again")
	})
}

// note records how far the services are, when that changed. Only a status of the
// release that is awaited tells that.
func (m *Manager) note(ctx context.Context, ro *Rollout, want id.ID, st *provider.InstanceStatus) error {
	if ro.Undoing != "" || !st.ReleaseID.IsNil() && st.ReleaseID != want {
		return nil
	}
	next := maps.Clone(ro.Services)
	for name := range ro.Services {
		seen, ok := st.Services[name]
		if !ok {
			continue
		}
		p := Progress{State: StateRunning, Message: clip(seen.Message, maxMessage)}
		switch {
		case seen.State == provider.StateFailed:
			p.State = StateFailed
		case seen.Ready:
			p = Progress{State: StateSucceeded}
		}
		next[name] = p
	}
	if maps.Equal(next, ro.Services) {
		return nil
	}
	return m.move(ctx, ro, func(_ *record, r *Rollout) { r.Services = next })
}

// describe is the state with reason and message where there are any.
func describe(st *provider.InstanceStatus) string {
	text := string(st.State)
	if st.Reason != "" {
		text += " (" + string(st.Reason) + ")"
	}
	if st.Message != "" {
		text += ": " + st.Message
	}
	return text
}
