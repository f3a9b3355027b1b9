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
func Await(ctx context.Context, p Provider, instanceID id.ID, policy ReadinessPolicy) (*InstanceStatus, error) {
	stepper, ok := p.(Stepper)
	if !ok {
		return WaitReady(ctx, policy, func(ctx context.Context) (*InstanceStatus, error) {
			return p.Status(ctx, instanceID)
		})
	}
	policy = policy.withDefaults()
	retry := min(firstStepRetry, policy.Interval)
	return await(ctx, policy, func(ctx context.Context) (look, error) {
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
}
