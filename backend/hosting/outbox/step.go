package outbox

import (
	"context"
	"time"
)

// retryStore is after how long a Step is good again that failed for the store.
const retryStore = time.Second

// Step sends what is due of one lease, one after the other, and stops at the first
// that is not acknowledged. It takes SendTimeout at most for each callback, and there
// are at most MaxPending.
//
// It is good to call again after the time that it returns, also with an error; 0 is
// not before the next Add. That a callback could not be delivered is no error: those
// are ErrInvalid, ErrRecord, those of the store and that of the context. A callback
// whose attempt was cut short by a cancel is due at once.
func (o *Outbox) Step(ctx context.Context, lease string) (again time.Duration, err error) {
	if lease, err = leaseName(lease); err != nil {
		return 0, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return retryStore, err
		}
		next, err := o.claim(ctx, lease)
		if err != nil {
			return retryStore, err
		}
		if next.send == nil {
			return next.wait, nil
		}
		out := o.send(ctx, next)
		if err := o.settle(ctx, lease, next, out); err != nil {
			return retryStore, err
		}
	}
}

// claim finds out what is to be done, and writes it down.
func (o *Outbox) claim(ctx context.Context, lease string) (turn, error) {
	var next turn
	err := o.change(ctx, lease, func(r *record) (bool, error) {
		next = r.begin(o.cfg.Now().UTC())
		return next.changed, nil
	})
	if err != nil {
		return turn{}, err
	}
	o.cfg.Metrics.pending(-len(next.givenUp))
	count(o.cfg.Metrics.GivenUp, len(next.givenUp))
	for _, gone := range next.givenUp {
		o.cfg.Logger.ErrorContext(ctx, "a callback was given up", "lease_uuid", lease, "operation", gone.Operation,
			"seq", gone.Seq, "attempts", gone.Attempts, "failure", gone.Failure, "created_at", gone.CreatedAt)
	}
	return next, nil
}

// settle writes down what came of an attempt, also when the caller has left: a
// callback of which nobody wrote that it was acknowledged is sent again.
func (o *Outbox) settle(ctx context.Context, lease string, t turn, out outcome) error {
	ctx = context.WithoutCancel(ctx) // change has a timeout of its own
	retryAt := o.cfg.Now().UTC().Add(o.backoff.Delay(t.send.Attempts))
	wrote := false
	err := o.change(ctx, lease, func(r *record) (bool, error) {
		wrote = r.end(t, out, retryAt)
		return wrote, nil
	})
	o.tell(ctx, lease, t, out)
	if err == nil && wrote && out.acknowledged {
		o.cfg.Metrics.pending(-1)
		count(o.cfg.Metrics.Sent, 1)
	}
	return err
}

// tell counts and logs an attempt that came to nothing: the first of a callback, the
// second, the fourth and so on.
func (o *Outbox) tell(ctx context.Context, lease string, t turn, out outcome) {
	if out.acknowledged || out.abandoned {
		return
	}
	count(o.cfg.Metrics.Failed, 1)
	if n := t.send.Attempts; n&(n-1) == 0 {
		o.cfg.Logger.WarnContext(ctx, "a callback was not delivered", "lease_uuid", lease, "operation", t.send.Operation,
			"seq", t.send.Seq, "attempts", n, "failure", out.failure, "error", clip(out.detail))
	}
}

// clip bounds what a target can write into a log.
func clip(err error) string {
	const most = 256
	if err == nil {
		return ""
	}
	return line(err.Error()[:min(len(err.Error()), most)])
}
