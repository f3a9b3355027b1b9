package lead

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Elector takes part in the election of a shard's leader.
type Elector struct {
	opts    Options
	timing  timing
	session string
	ran     atomic.Bool
	reign   atomic.Pointer[reign]

	// Below is what the one goroutine of Run uses.
	beat  uint64
	most  uint64    // the greatest term that was ever seen
	fresh time.Time // when this elector made the marker: nobody had led here; zero: it did not
	seen  sight

	mu     sync.Mutex
	leader Leader
}

// reign is a lease that this elector has, in one term. It is replaced, never changed.
type reign struct {
	term uint64
	// from is when the write began that made or renewed it.
	from time.Time
	tag  string
}

// sight is what was last seen of the lock object.
type sight struct {
	tag   string // empty: there is none
	since time.Time
	known bool // anything was seen
	lock  lock
}

// Leader is who leads as far as this elector has seen.
type Leader struct {
	Term     uint64
	Holder   string
	Released bool // nobody leads
	// Since is when the lock object was seen to change, by this process's clock.
	Since time.Time
	// Self: it is this elector.
	Self bool
}

// New prepares an elector; Run makes it one. Errors: ErrOptions.
func New(opts Options) (*Elector, error) {
	if err := opts.settle(); err != nil {
		return nil, err
	}
	e := &Elector{opts: opts, timing: opts.timing(), session: opts.Session}
	if e.session == "" {
		e.session = rand.Text()
	}
	return e, nil
}

// Term is the term in which this elector leads, and whether it does right now. It
// costs two looks at a clock, and says no before another elector may say yes.
func (e *Elector) Term() (uint64, bool) {
	r := e.reign.Load()
	if r == nil || e.left(r) <= 0 {
		return 0, false
	}
	return r.term, true
}

// left is how long a lease goes on: by the monotonic clock, which stands still while a
// machine sleeps, and by the wall's, whichever says less.
func (e *Elector) left(r *reign) time.Duration {
	now := e.opts.Now()
	elapsed := max(now.Sub(r.from), now.Round(0).Sub(r.from.Round(0)))
	return e.timing.lease - elapsed
}

// Leader is what this elector last saw; false before it saw anything.
func (e *Elector) Leader() (Leader, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.leader
	_, l.Self = e.Term()
	return l, l.Term > 0
}

func (e *Elector) tell(l lock, at time.Time) {
	e.most = max(e.most, l.Term)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leader = Leader{Term: l.Term, Holder: l.Holder, Released: l.Released || l.Empty, Since: at}
}

// next is the lock object as this elector writes it now.
func (e *Elector) next(term uint64, at time.Time) lock {
	e.beat++
	return lock{
		Schema: lockSchema, Term: term, Holder: e.opts.Holder, Session: e.session, Beat: e.beat,
		RenewedAt: at.UTC(), IntervalMS: e.opts.Election.Interval.Std().Milliseconds(),
		TimeoutMS: e.opts.Election.Timeout.Std().Milliseconds(),
	}
}

// write writes the lock object by condition, within limit.
func (e *Elector) write(ctx context.Context, l lock, tag string, limit time.Duration) (string, error) {
	raw, err := l.bytes()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, min(limit, e.timing.call))
	defer cancel()
	newTag, err := e.opts.Storage.PutIfMatch(ctx, e.opts.Key, raw, tag)
	if err != nil {
		return "", fmt.Errorf("write the lock object: %w", err)
	}
	return newTag, nil
}

// read reads the lock object, within limit.
func (e *Elector) read(ctx context.Context, limit time.Duration) (lock, string, error) {
	ctx, cancel := context.WithTimeout(ctx, min(limit, e.timing.call))
	defer cancel()
	data, tag, err := e.opts.Storage.Get(ctx, e.opts.Key)
	if err != nil {
		return lock{}, "", fmt.Errorf("read the lock object: %w", err)
	}
	l, err := parseLock(data)
	return l, tag, err
}
