package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/id"
)

// firstStepRetry is how long Await waits after a Step failed; it doubles up to the
// policy's interval.
const firstStepRetry = 100 * time.Millisecond

// Await drives an instance until it is ready, as WaitReady does, and with the
// same errors. When p is a Stepper it calls Step whenever that is due, which
// makes it all that a caller without the daemon's engine needs; else it only
// reads the status. An instance that a Stepper does not know is ErrNotFound at once.
//
// What ends a change comes after the verdict on it: the old release is taken
// away, or after a failure brought back. Await of a Stepper goes on stepping for that,
// so that a caller who steps no further leaves the instance as it should be: until a
// step fails, nothing is due, or the next step is due in a second or more while
// the instance is Ready or Available; for at most 3 s after a success and 30 s
// after a failure. A provider that has something to do every moment, such as a
// probe, takes up all of that time. The error is that of the verdict, the status
// the one after these steps.
//
// The verdict is on the release that was asked for last, and it stays. After a
// Deploy that failed every Await returns ErrNotReady with StateFailed and
// ReasonRolloutFailed, also when the release before it serves, which Available
// tells; Restart, Scale, Stop, Start and the same Deploy again change nothing in
// that. It is over with a Deploy of another release, or with a Rollback to the one that
// serves, InstanceStatus.ReleaseID.
func Await(ctx context.Context, p Provider, instanceID id.ID, policy ReadinessPolicy) (*InstanceStatus, error) {
	stepper, ok := p.(Stepper)
	if !ok {
		return WaitReady(ctx, policy, func(ctx context.Context) (*InstanceStatus, error) {
			return p.Status(ctx, instanceID)
		})
	}
	policy = policy.withDefaults()
	retry := min(firstStepRetry, policy.Interval)
	st, err := await(ctx, policy, func(ctx context.Context) (look, error) {
		next, err := stepper.Step(ctx, instanceID)
		if errors.Is(err, ErrNotFound) {
			return look{}, fmt.Errorf("step instance %s: %w", instanceID, err)
		}
		if err != nil {
			wait := retry
			retry = min(2*retry, policy.Interval)
			return look{err: fmt.Errorf("step: %w", err), next: wait}, nil
		}
		retry = min(firstStepRetry, policy.Interval)
		if next <= 0 || next > policy.Interval {
			next = policy.Interval
		}
		st, err := p.Status(ctx, instanceID)
		return look{status: st, err: err, next: next}, nil
	})
	if st == nil || !st.Ready && st.State != StateFailed {
		return st, err
	}
	return finish(ctx, p, stepper, instanceID, st), err
}

const (
	// finishGap is between steps that belong together: one that is due later is a
	// watch over what serves.
	finishGap = time.Second
	// tidyLimit bounds what is done after a success, restoreLimit after a failure.
	tidyLimit    = 3 * time.Second
	restoreLimit = 30 * time.Second
)

// finish makes the steps that end a change and returns the status after them.
func finish(ctx context.Context, p Provider, stepper Stepper, instanceID id.ID, st *InstanceStatus) *InstanceStatus {
	limit := tidyLimit
	if !st.Ready {
		limit = restoreLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for ctx.Err() == nil {
		next, err := stepper.Step(ctx, instanceID)
		if err != nil {
			return st // what it could not do shows in the next status
		}
		if now, err := p.Status(ctx, instanceID); err == nil && now != nil {
			st = now
		}
		restored := st.Ready || st.Available
		if next <= 0 || next >= finishGap && restored {
			return st
		}
		timer := time.NewTimer(min(next, finishGap))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
	return st
}
