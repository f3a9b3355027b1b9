package lead

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Run takes part until ctx ends, and calls work whenever this elector leads, never twice
// at once. The context of work ends when it leads no more, with the cause ErrDeposed or
// ErrStopped; until work returned, or StopTimeout is over, Term stays true after
// ErrStopped. When work returns by itself the lead is let go of, and not taken again
// before a timeout is over.
//
// It returns nil when ctx ended. Errors: ErrNoConditions, ErrStuck, ErrRunTwice.
func (e *Elector) Run(ctx context.Context, work func(ctx context.Context, term uint64) error) error {
	if e.ran.Swap(true) {
		return ErrRunTwice
	}
	for {
		err := e.probe(ctx)
		if err == nil {
			break
		}
		if errors.Is(err, ErrNoConditions) {
			return err
		}
		e.opts.Logger.WarnContext(ctx, "the election does not begin yet", "error", err)
		if !pause(ctx, e.timing.poll) {
			return nil
		}
	}
	for ctx.Err() == nil {
		r, wait := e.contend(ctx)
		if r == nil {
			pause(ctx, wait)
			continue
		}
		err := e.lead(ctx, r, work)
		if errors.Is(err, ErrStuck) {
			return err
		}
		if err != nil {
			pause(ctx, e.timing.rest)
		}
	}
	return nil
}

// pause waits; false is the end of ctx.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// errEnded is work that returned by itself.
var errEnded = errors.New("the work of the leader ended by itself")

// lead runs one reign. nil is that the election goes on at once.
func (e *Elector) lead(ctx context.Context, r *reign, work func(context.Context, uint64) error) error {
	e.reign.Store(r)
	defer e.reign.Store(nil)
	log := e.opts.Logger.With("holder", e.opts.Holder, "term", r.term)
	log.InfoContext(ctx, "this server leads")
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(ErrDeposed)
	done := make(chan error, 1)
	term := r.term
	go func() { done <- work(inner, term) }()

	r, ended, err := e.hold(ctx, r, done, cancel)
	if errors.Is(err, ErrStuck) {
		return err
	}
	lost := e.left(r) <= 0 || !ended
	e.reign.Store(nil) // before the others may
	if lost {
		cancel(ErrDeposed)
		log.WarnContext(ctx, "this server leads no more", "error", err)
		if ended {
			return nil
		}
		return e.await(done)
	}
	e.release(ctx, r)
	log.InfoContext(ctx, "this server let go of the lead", "error", err)
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(errEnded, err)
}

// hold renews until the lease is over or work returned, which is what ended says, with
// its error. A lease ends on time also while the store does not answer.
func (e *Elector) hold(ctx context.Context, r *reign, done <-chan error, cancel context.CancelCauseFunc) (last *reign, ended bool, err error) {
	over := time.AfterFunc(e.left(r), func() { cancel(ErrDeposed) })
	defer over.Stop()
	open := tries{}
	stop := ctx.Done()
	var grace <-chan time.Time
	next := time.NewTimer(e.timing.renew)
	defer next.Stop()
	for {
		select {
		case err := <-done:
			return r, true, err
		case <-stop:
			cancel(ErrStopped)
			t := time.NewTimer(e.opts.StopTimeout)
			defer t.Stop()
			stop, grace = nil, t.C
		case <-grace:
			return r, false, ErrStuck
		case <-next.C:
			renewed, err := e.renew(context.WithoutCancel(ctx), r, open)
			if errors.Is(err, ErrDeposed) {
				return r, false, err
			}
			r = renewed
			e.reign.Store(r)
			over.Reset(e.left(r))
			wait := e.timing.renew - e.opts.Now().Sub(r.from)
			if err != nil {
				e.opts.Logger.WarnContext(ctx, "the lead was not renewed yet", "term", r.term, "left", e.left(r), "error", err)
				wait = e.timing.retry
			}
			next.Reset(max(wait, 0))
		}
	}
}

// await waits until the work of a leader that is none any more has ended.
func (e *Elector) await(done <-chan error) error {
	t := time.NewTimer(e.opts.StopTimeout)
	defer t.Stop()
	select {
	case err := <-done:
		if err != nil {
			e.opts.Logger.Info("the work of a leader that is none any more ended", "error", err)
		}
		return nil
	case <-t.C:
		return fmt.Errorf("%w after %v", ErrStuck, e.opts.StopTimeout)
	}
}
