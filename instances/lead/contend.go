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
	key, marker := e.opts.Key+".marker", []byte("{\"schema\":1}\n")
	began := e.opts.Now()
	_, err := e.opts.Storage.PutIfMatch(ctx, key, marker, "")
	switch {
	case err == nil:
		e.fresh = began.Add(e.timing.take / 2)
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
	r, err := e.take(ctx)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, storage.ErrPrecondition) {
			e.opts.Logger.WarnContext(ctx, "the lead could not be taken", "error", err)
		}
		return nil, e.timing.retry
	}
	return r, 0
}

// mustWait is how long whoever holds the lock object may still act. An object that is
// missing may have been deleted while somebody leads.
func (e *Elector) mustWait(now time.Time) time.Duration {
	s := e.seen
	if s.tag == "" && now.Before(e.fresh) || s.tag != "" && (s.lock.Released || s.lock.Session == e.session) {
		return 0
	}
	return e.timing.take - now.Sub(s.since)
}

// take begins a term. When its answer is lost, the next look shows the object with this
// elector's session, and the next term is begun.
func (e *Elector) take(ctx context.Context) (*reign, error) {
	if e.seen.tag == "" && e.opts.Floor != nil {
		floor, err := e.opts.Floor(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for the last term: %w", err)
		}
		e.most = max(e.most, floor)
	}
	from := e.opts.Now()
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
