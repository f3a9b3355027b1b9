package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// What the zero fields of a ReadinessPolicy mean.
const (
	DefaultReadinessTimeout  = 5 * time.Minute
	DefaultReadinessInterval = 5 * time.Second
)

// How a wait for readiness ends, as ReadinessOutcome tells.
const (
	ReadinessReady    = "ready"
	ReadinessFailed   = "failed"
	ReadinessTimeout  = "timeout"
	ReadinessCanceled = "canceled"
)

// ReadinessPolicy says for how long to wait for readiness and how often to look.
type ReadinessPolicy struct {
	Timeout  time.Duration `json:"timeout"`
	Interval time.Duration `json:"interval"`
}

// withDefaults fills in what is zero or makes no sense.
func (p ReadinessPolicy) withDefaults() ReadinessPolicy {
	if p.Timeout <= 0 {
		p.Timeout = DefaultReadinessTimeout
	}
	if p.Interval <= 0 {
		p.Interval = DefaultReadinessInterval
	}
	return p
}

// ReadinessWaiter is what a provider also implements whose Provision and Deploy
// return before the instance serves. Who calls those methods then waits by the
// policy for Status to be Ready before the work counts as done.
type ReadinessWaiter interface {
	ReadinessPolicy() ReadinessPolicy
}

// StatusFunc reads the status that WaitReady waits on.
type StatusFunc func(ctx context.Context) (*InstanceStatus, error)

// WaitReady reads the status at once and then at the policy's interval, until it
// is Ready, or StateFailed, or the policy's time is up; the last two are
// ErrNotReady. A read that fails is repeated, because a platform may not find what
// it has just accepted; when the time is up the last failure is part of the
// error. When ctx is cancelled the error wraps context.Canceled and not ErrNotReady.
//
// The status returned is the last one that was read, which may be nil.
//
// When ctx carries a trace the wait is a span of it, with the number of reads and
// the outcome.
func WaitReady(ctx context.Context, policy ReadinessPolicy, status StatusFunc) (*InstanceStatus, error) {
	policy = policy.withDefaults()
	return await(ctx, policy, func(ctx context.Context) (look, error) {
		st, err := status(ctx)
		return look{status: st, err: err, next: policy.Interval}, nil
	})
}

// ReadinessOutcome names how a WaitReady or Await ended that returned st and err.
func ReadinessOutcome(st *InstanceStatus, err error) string {
	switch {
	case err == nil:
		return ReadinessReady
	case errors.Is(err, context.Canceled) && !errors.Is(err, ErrNotReady):
		return ReadinessCanceled
	case st != nil && st.State == StateFailed:
		return ReadinessFailed
	default:
		return ReadinessTimeout
	}
}

// look is one look at the instance.
type look struct {
	status *InstanceStatus
	err    error         // why there is no status; the wait goes on
	next   time.Duration // until the next look
}

// await is the loop under WaitReady and Await. An error that do returns beside the
// look ends it.
func await(ctx context.Context, policy ReadinessPolicy, do func(context.Context) (look, error)) (st *InstanceStatus, err error) {
	polls := 0
	ctx, done := startWaitSpan(ctx)
	defer func() { done(polls, ReadinessOutcome(st, err), err) }()

	limited, cancel := context.WithTimeout(ctx, policy.Timeout)
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last error
	for {
		select {
		case <-limited.Done():
			return st, notReady(ctx, policy, st, last)
		case <-timer.C:
		}
		polls++
		seen, fatal := do(limited)
		if fatal != nil {
			return st, fatal
		}
		last = seen.err
		if seen.err == nil && seen.status == nil {
			last = errors.New("the provider returned no status")
		}
		if seen.err == nil && seen.status != nil {
			st = seen.status
			switch {
			case st.State == StateFailed:
				return st, fmt.Errorf("%w: %s", ErrNotReady, describe(st))
			case st.Ready:
				return st, nil
			}
		}
		timer.Reset(seen.next)
	}
}

// notReady says why the loop gave up.
func notReady(ctx context.Context, policy ReadinessPolicy, st *InstanceStatus, last error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("wait for readiness: %w", ctx.Err())
	}
	limit := fmt.Sprintf("within %s", policy.Timeout)
	if ctx.Err() != nil {
		limit = "before the caller's deadline"
	}
	what := "no status was read"
	if st != nil {
		what = "last seen " + describe(st)
	}
	if last == nil {
		return fmt.Errorf("%w %s: %s", ErrNotReady, limit, what)
	}
	return fmt.Errorf("%w %s: %s; the last read failed: %w", ErrNotReady, limit, what, last)
}

// describe is the state with reason and message where there are any.
func describe(st *InstanceStatus) string {
	text := string(st.State)
	if st.Reason != "" {
		text += " (" + string(st.Reason) + ")"
	}
	if st.Message != "" {
		text += ": " + st.Message
	}
	return text
}

// startWaitSpan begins the span of a wait when ctx is part of a trace, by the means of
// that trace.
func startWaitSpan(ctx context.Context) (context.Context, func(polls int, outcome string, err error)) {
	parent := trace.SpanFromContext(ctx)
	if !parent.SpanContext().IsValid() {
		return ctx, func(int, string, error) {}
	}
	ctx, span := parent.TracerProvider().Tracer(tracerName).Start(ctx, "wait for instance readiness")
	return ctx, func(polls int, outcome string, err error) {
		span.SetAttributes(attribute.Int("berth.readiness.polls", polls), attribute.String("berth.readiness.outcome", outcome))
		if err != nil {
			span.SetStatus(codes.Error, outcome)
		}
		span.End()
	}
}

const tracerName = "github.com/berth-cloud/berth/provider"
