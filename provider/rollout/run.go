package rollout

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Run drives a rollout to its end, in the caller's goroutine, and returns it with
// the error of its end. When ctx ends, or the store fails, the rollout stays open:
// calling Run again, here or elsewhere, goes on with it.
func (m *Manager) Run(ctx context.Context, workload, rollout id.ID) (*Rollout, error) {
	waited := false
	for {
		rec, _, err := m.load(ctx, workload)
		if err != nil {
			return nil, err
		}
		ro := rec.rollout(rollout)
		switch {
		case ro == nil:
			return nil, fmt.Errorf("%w: workload %s has no rollout %s", provider.ErrNotFound, workload, rollout)
		case ro.Ended():
			return ro, ro.Err()
		case rec.Open != rollout:
			return nil, fmt.Errorf("%w: rollout %s is neither open nor ended", ErrRecord, rollout)
		}
		if waited || !ro.Phase.awaits() {
			next, err := m.Step(ctx, workload)
			if err != nil {
				return nil, err
			}
			waited = false
			if rec, _, err = m.load(ctx, workload); err != nil {
				return nil, err
			}
			now := rec.rollout(rollout)
			if now == nil || now.Ended() || now.Phase != ro.Phase {
				continue
			}
			if err := sleep(ctx, min(next, lookAgain)); err != nil {
				return nil, err
			}
			continue
		}
		if err := m.await(ctx, rec, ro); err != nil {
			return nil, err
		}
		waited = true
	}
}

// lookAgain is how soon Run sees what another process wrote while it waits for
// nothing else.
const lookAgain = time.Second

func (p Phase) awaits() bool { return p == PhaseAwait || p == PhaseUndoAwait }

// await passes the time until the instance is ready, or failed, or the rollout is
// no longer in this phase. It decides nothing: the Step after it looks for itself.
func (m *Manager) await(ctx context.Context, rec *record, ro *Rollout) error {
	left := ro.Until.Sub(m.now())
	pctx, p, err := m.providers.Acquire(ctx, rec.Provider)
	if err != nil || left <= 0 {
		return ctx.Err()
	}
	pctx, stop := context.WithCancel(pctx)
	defer stop()
	w := watched{Provider: p, look: func(ctx context.Context) {
		if now, _, err := m.load(ctx, ro.Workload); err == nil && (now.Open != ro.ID || !now.open().same(ro)) {
			stop()
		}
	}}
	policy := provider.ReadinessPolicy{Timeout: left, Interval: m.interval(p)}
	if stepper, ok := p.(provider.Stepper); ok {
		_, _ = provider.Await(pctx, watchedStepper{w, stepper}, ro.Workload, policy)
	} else {
		_, _ = provider.Await(pctx, w, ro.Workload, policy)
	}
	return ctx.Err()
}

// watched is a provider whose every Status is preceded by a look at the record: a
// wait in one process sees what another wrote.
type watched struct {
	provider.Provider
	look func(context.Context)
}

// Status implements provider.Provider.
func (w watched) Status(ctx context.Context, instanceID id.ID) (*provider.InstanceStatus, error) {
	w.look(ctx)
	return w.Provider.Status(ctx, instanceID)
}

type watchedStepper struct {
	watched
	provider.Stepper
}

var (
	_ provider.Provider = watchedStepper{}
	_ provider.Stepper  = watchedStepper{}
)

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
