package rollout

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// passApply makes the call that the phase has written down.
func (m *Manager) passApply(ctx context.Context, rec *record, ro *Rollout) (time.Duration, error) {
	if late := ro.Until; late != nil && m.late(*late) {
		return 0, m.fail(ctx, rec, ro, ro.tooLate("was not accepted"), false)
	}
	if ro.RetryAt != nil && !m.late(*ro.RetryAt) {
		return ro.RetryAt.Sub(m.now()), nil
	}
	want := ro.Release
	if ro.Phase == PhaseUndo {
		want = ro.Base
	}
	rel := rec.release(want)
	if rel == nil {
		return 0, fmt.Errorf("%w: release %s is not in it", ErrRecord, want)
	}
	ref, err := m.ask(ctx, rec, ro, rel)
	if ctx.Err() != nil {
		return 0, ctx.Err() // what was called may be repeated, and will be
	}
	if err != nil {
		return m.stumble(ctx, rec, ro, err)
	}
	return 0, m.move(ctx, ro, func(_ *record, r *Rollout) {
		if ref != "" {
			r.ProviderRef = ref
		}
		m.intend(r, r.Phase.await(), m.patience(rec, r), fmt.Sprintf("wait for release %d", rel.Version))
	})
}

func (p Phase) await() Phase {
	if p == PhaseUndo {
		return PhaseUndoAwait
	}
	return PhaseAwait
}

func (p Phase) apply() Phase {
	if p == PhaseUndoAwait {
		return PhaseUndo
	}
	return PhaseApply
}

// patience is until when a release that was accepted may take to be ready: what
// the provider says, within the deadline.
func (m *Manager) patience(rec *record, r *Rollout) time.Time {
	end := r.Deadline
	if r.Phase == PhaseUndo {
		end = *r.Until
	}
	_, p, err := m.providers.Resolve(rec.Provider)
	if err != nil {
		return end
	}
	if w, ok := p.(provider.ReadinessWaiter); ok {
		if by := m.now().Add(positive(w.ReadinessPolicy().Timeout, provider.DefaultReadinessTimeout)); by.Before(end) {
			return by
		}
	}
	return end
}

// ask calls the provider for a release.
func (m *Manager) ask(ctx context.Context, rec *record, ro *Rollout, rel *Release) (ref string, err error) {
	ctx, p, err := m.providers.Acquire(ctx, rec.Provider)
	if err != nil {
		return "", err
	}
	ctx, cancel := m.call(ctx)
	defer cancel()
	switch {
	case ro.Phase == PhaseUndo:
		return m.restore(ctx, p, rec, rel, rec.sizeAfterUndo(ro))
	case ro.Restore:
		return m.restore(ctx, p, rec, rel, rec.sizeAfterRollback(rel))
	case ro.Kind == KindInitial:
		req := rec.Provision
		req.Services = provider.CloneServices(req.Services)
		res, err := p.Provision(ctx, req)
		if err != nil || res == nil {
			return "", err
		}
		return res.ProviderRef, nil
	default:
		return deploy(ctx, p, rec, rel, ro.Ref, ro.Strategy, ro.Bounds)
	}
}

// deploy asks for a release whole, with the services that the request did not list
// too: what they were is in our record, and not what a failed release made of them.
func deploy(ctx context.Context, p provider.Provider, rec *record, rel *Release, ref id.ID, strategy string, bounds *provider.RolloutSpec) (string, error) {
	services := make([]provider.ServiceDeploySpec, len(rel.Services))
	for i, s := range rel.Services {
		services[i] = s.DeploySpec()
	}
	res, err := p.Deploy(ctx, provider.DeployRequest{
		InstanceID: rec.Workload, ReleaseID: ref, Services: services, Strategy: strategy, Rollout: bounds,
	})
	if err != nil || res == nil {
		return "", err
	}
	return res.ProviderRef, nil
}

// restore asks for a release that the provider has served, and gives it whole where
// the provider has forgotten it. size, when not zero, is what the main service is to
// have beside its release.
func (m *Manager) restore(ctx context.Context, p provider.Provider, rec *record, rel *Release, size provider.ResourceSpec) (ref string, err error) {
	err = p.Rollback(ctx, rec.Workload, rel.Ref)
	if errors.Is(err, provider.ErrNotFound) {
		ref, err = deploy(ctx, p, rec, rel, rel.Ref, "", nil)
	}
	if err == nil && !size.IsZero() && provider.HasCapability(p, provider.CapScale) {
		err = p.Scale(ctx, rec.Workload, size)
	}
	return ref, err
}

// refused reports an error that repeating the call does not change.
func refused(err error) bool {
	for _, e := range []error{
		provider.ErrInvalid, provider.ErrNotSupported, provider.ErrUnsupportedSource,
		provider.ErrConflict, provider.ErrNoRecord, provider.ErrNotFound,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// passing reports an error that a provider says will go away.
func passing(err error) bool {
	return errors.Is(err, provider.ErrBusy) || errors.Is(err, provider.ErrUnavailable) || errors.Is(err, provider.ErrProviderNotFound)
}

// stumble decides about a call that failed: again later, or the end.
func (m *Manager) stumble(ctx context.Context, rec *record, ro *Rollout, err error) (time.Duration, error) {
	if refused(err) || !passing(err) && ro.Attempts+1 >= m.opts.Policy.MaxAttempts {
		return 0, m.fail(ctx, rec, ro, err, ro.Attempts == 0 && changedNothing(ro, err))
	}
	if errors.Is(err, provider.ErrBusy) {
		m.nudge(ctx, rec)
	}
	wait := backoff(ro.Attempts + 1)
	if left := ro.Until.Sub(m.now()); left > 0 {
		wait = min(wait, left)
	}
	return wait, m.move(ctx, ro, func(_ *record, r *Rollout) {
		at := m.now().Add(wait)
		r.Attempts++
		r.RetryAt, r.LastError = &at, failureOf(err)
	})
}

// nudge makes a pass for what keeps the provider busy: one that does not advance by
// itself has nobody else to do it. What comes of it shows in the next call.
func (m *Manager) nudge(ctx context.Context, rec *record) {
	if _, _, err := m.look(ctx, rec); err != nil {
		m.opts.Logger.LogAttrs(ctx, slog.LevelDebug, "busy provider not advanced",
			slog.String("workload", rec.Workload.String()), slog.String("error", err.Error()))
	}
}

// changedNothing reports whether err is the provider's word that the first call
// had no effect.
func changedNothing(ro *Rollout, err error) bool {
	return errors.Is(err, provider.ErrInvalid) || errors.Is(err, provider.ErrNotSupported) ||
		errors.Is(err, provider.ErrUnsupportedSource) || ro.Kind == KindInitial && errors.Is(err, provider.ErrConflict)
}

// fail is lose on the way forwards and loseUndo on the way back.
func (m *Manager) fail(ctx context.Context, rec *record, ro *Rollout, cause error, untouched bool) error {
	if ro.Undoing != "" {
		return m.loseUndo(ctx, ro, cause)
	}
	return m.lose(ctx, rec, ro, cause, untouched)
}

// tooLate is the cause of a rollout whose time is up.
func (r *Rollout) tooLate(what string) error {
	if r.LastError != nil {
		return fmt.Errorf("%w in time: it %s: %w", provider.ErrNotReady, what, r.LastError)
	}
	return fmt.Errorf("%w in time: it %s", provider.ErrNotReady, what)
}
