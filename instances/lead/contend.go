package lead

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/instances/storage"
)

// probe finds out whether the store heeds conditions, on a marker whose content never
// changes, so that a store that does not loses nothing. Whoever makes the marker knows
// that nobody led here before.
func (e *Elector) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 4*e.timing.call)
	defer cancel()
	began := e.opts.Now()
	key, marker := e.opts.Key+".marker", []byte("{\"schema\":1}\n")
	_, err := e.opts.Storage.PutIfMatch(ctx, key, marker, "")
	switch {
	case err == nil:
		e.fresh = began
	case !errors.Is(err, storage.ErrPrecondition):
		return fmt.Errorf("try the store's conditions: %w", err)
	}
	for _, tag := range []string{"", "0000"} {
		_, err = e.opts.Storage.PutIfMatch(ctx, key, marker, tag)
		if err == nil {
			return fmt.Errorf("%w: %s was written although it was there with another tag; use a store with conditional writes", ErrNoConditions, key)
		}
		if !errors.Is(err, storage.ErrPrecondition) {
			return fmt.Errorf("try the store's conditions: %w", err)
		}
	}
	return nil
}

// contend looks at the lock object once, and leads if it may. It returns how long to
// wait before the next look.
func (e *Elector) contend(ctx context.Context) (*reign, time.Duration) {
	l, tag, err := e.read(ctx, e.timing.call)
	now := e.opts.Now() // after the read: the change was not later
	switch {
	case errors.Is(err, storage.ErrNotFound):
		tag, l = "", lock{}
	case err != nil:
		if ctx.Err() == nil {
			e.opts.Logger.WarnContext(ctx, "the lock object could not be read; nobody is taken for gone", "error", err)
		}
		return nil, e.timing.poll
	}
	if !e.seen.known || e.seen.tag != tag {
		e.seen = sight{tag: tag, since: now, known: true, lock: l}
		if tag != "" {
			e.fresh = time.Time{}
			e.tell(l, now)
		}
	}
	if wait := e.mustWait(now); wait > 0 {
		return nil, min(wait, e.timing.poll)
	}
	if tag == "" && !e.isFresh(now) {
		if err := e.place(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, storage.ErrPrecondition) {
			e.opts.Logger.WarnContext(ctx, "the lock object was missing, and could not be made", "error", err)
		}
		return nil, e.timing.retry
	}
	r, err := e.take(ctx)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, storage.ErrPrecondition) {
			e.opts.Logger.WarnContext(ctx, "the lead could not be taken", "error", err)
		}
		return nil, e.timing.retry
	}
	return r, 0
}

// isFresh reports whether nobody can have led here: this elector made the marker, and so
// lately that another one, which waits a look, makes the object and waits until it may
// take it, cannot lead before a lease from now is over.
func (e *Elector) isFresh(now time.Time) bool {
	return !e.fresh.IsZero() && now.Sub(e.fresh) < e.timing.poll
}

// mustWait is how long whoever holds the lock object may still act. One that is missing
// is waited for a look long, for the one that has just made the marker.
func (e *Elector) mustWait(now time.Time) time.Duration {
	s := e.seen
	switch {
	case s.tag == "" && e.isFresh(now):
		return 0
	case s.tag == "":
		return e.timing.poll - now.Sub(s.since)
	case !s.lock.Empty && (s.lock.Released || s.lock.Session == e.session):
		return 0
	}
	return e.timing.take - now.Sub(s.since)
}

// place makes the lock object anew, as nobody's. It was deleted perhaps while somebody
// leads, and that it is missing cannot be seen to change: so all wait from the new one on.
func (e *Elector) place(ctx context.Context) error {
	if err := e.raise(ctx); err != nil {
		return err
	}
	l := e.next(e.most+1, e.opts.Now())
	l.Empty = true
	_, err := e.write(ctx, l, "", e.timing.call)
	return err
}

// raise learns of the greatest term from whoever knows it beside the lock object.
func (e *Elector) raise(ctx context.Context) error {
	if e.opts.Floor == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.timing.rest)
	defer cancel()
	floor, err := e.opts.Floor(ctx)
	if err != nil {
		return fmt.Errorf("look for the last term: %w", err)
	}
	e.most = max(e.most, floor)
	return nil
}

// take begins a term. When its answer is lost, the next look shows the object with this
// elector's session, and the next term is begun.
func (e *Elector) take(ctx context.Context) (*reign, error) {
	if e.seen.tag == "" {
		if err := e.raise(ctx); err != nil {
			return nil, err
		}
	}
	from := e.opts.Now()
	if e.seen.tag == "" && !e.isFresh(from) {
		return nil, fmt.Errorf("%w: the lock object is missing", storage.ErrPrecondition)
	}
	l := e.next(max(e.most, e.seen.lock.Term)+1, from)
	e.most = l.Term
	tag, err := e.write(ctx, l, e.seen.tag, e.timing.call)
	if err != nil {
		return nil, err
	}
	e.fresh = time.Time{}
	e.seen = sight{tag: tag, since: e.opts.Now(), known: true, lock: l}
	e.tell(l, e.seen.since)
	r := &reign{term: l.Term, from: from, tag: tag}
	if e.left(r) <= 0 {
		return nil, fmt.Errorf("%w before it began: the store took too long", ErrDeposed)
	}
	return r, nil
}
