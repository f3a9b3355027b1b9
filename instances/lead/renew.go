package lead

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/instances/storage"
)

// tries are the writes of a reign of which it is not known whether they were made, by
// their beat, with when they began.
type tries map[uint64]time.Time

// maxTries bounds them; a lease has no time for as many.
const maxTries = 64

// renew writes the lock object again. What comes back is the lease as it is then, with
// an error when it is not longer than it was. ErrDeposed is the end of it.
func (e *Elector) renew(ctx context.Context, r *reign, open tries) (*reign, error) {
	left := e.left(r)
	if left <= 0 || len(open) >= maxTries {
		return r, fmt.Errorf("%w: it was not renewed in time", ErrDeposed)
	}
	from := e.opts.Now()
	l := e.next(r.term, from)
	tag, err := e.write(ctx, l, r.tag, left)
	if err == nil {
		clear(open)
		return e.renewed(r, l, tag, from)
	}
	open[l.Beat] = from
	if left = e.left(r); left <= 0 {
		return r, fmt.Errorf("%w: it was not renewed in time: %w", ErrDeposed, err)
	}
	return e.found(ctx, r, open, left, err)
}

// found finds out what became of a write that failed: also one that the store refused
// may have been made, by an attempt whose answer was lost.
func (e *Elector) found(ctx context.Context, r *reign, open tries, left time.Duration, cause error) (*reign, error) {
	l, tag, err := e.read(ctx, left)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return r, fmt.Errorf("%w: the lock object is gone", ErrDeposed)
	case err != nil:
		return r, errors.Join(cause, err)
	case l.Session != e.session || l.Term != r.term:
		e.tell(l, e.opts.Now())
		return r, fmt.Errorf("%w: %s leads in term %d", ErrDeposed, l.Holder, l.Term)
	}
	from, mine := open[l.Beat]
	if !mine {
		return &reign{r.term, r.from, tag}, cause // it was not made
	}
	clear(open)
	return e.renewed(r, l, tag, from)
}

// renewed takes a write that was made, unless the lease ended meanwhile: what it ended
// does not begin again.
func (e *Elector) renewed(r *reign, l lock, tag string, from time.Time) (*reign, error) {
	if e.left(r) <= 0 {
		return r, fmt.Errorf("%w: the store took too long", ErrDeposed)
	}
	e.seen = sight{tag: tag, since: e.opts.Now(), known: true, lock: l}
	e.tell(l, e.seen.since)
	return &reign{r.term, from, tag}, nil
}

// release lets go of the lock object; if that fails, the others wait.
func (e *Elector) release(ctx context.Context, r *reign) {
	ctx = context.WithoutCancel(ctx)
	for range 2 {
		left := e.left(r)
		if left <= 0 {
			return
		}
		l := e.next(r.term, e.opts.Now())
		l.Released = true
		tag, err := e.write(ctx, l, r.tag, left)
		if err == nil {
			e.seen = sight{tag: tag, since: e.opts.Now(), known: true, lock: l}
			e.tell(l, e.seen.since)
			return
		}
		e.opts.Logger.WarnContext(ctx, "the lead was not let go of", "term", r.term, "error", err)
		now, tag, err := e.read(ctx, max(e.left(r), time.Millisecond))
		if err != nil || now.Session != e.session || now.Term != r.term || now.Released {
			return
		}
		r = &reign{r.term, r.from, tag}
	}
}
