package reconcile

import (
	"context"
	"time"
)

// sweepSteps is in how many portions the watchdog kicks the keys of one round.
const sweepSteps = 100

// resync is the engine's way of looking at every key: at once when it may have
// missed something, and slowly as a watchdog. Times are on the engine's clock,
// 0 is none.
type resync struct {
	at       time.Duration // next listing
	full     bool          // the next listing wakes all keys at once
	listing  bool
	failures int

	sweep   []Key // keys the watchdog has still to kick
	portion int
	sweepAt time.Duration
	gap     time.Duration
}

// times are those at which there is something to do.
func (r *resync) times() [2]time.Duration {
	if r.listing {
		return [2]time.Duration{0, r.sweepAt} // the next listing waits for this one
	}
	return [2]time.Duration{r.at, r.sweepAt}
}

// Resync lists all keys and runs each of them as soon as there is a worker,
// failing ones too. It returns at once; a listing that fails is tried again.
// It is for the moment when events may have been missed.
func (e *Engine) Resync() {
	e.do(func(now time.Duration) {
		if e.cfg.List != nil {
			e.resync.full, e.resync.at = true, now
		}
	})
}

// tickResync does what is due. The lock is held.
func (e *Engine) tickResync(now time.Duration) {
	r := &e.resync
	if r.at != 0 && r.at <= now && !r.listing && e.phase == phaseRunning {
		r.at, r.listing = 0, true
		full := r.full
		r.full = false
		e.workers.Add(1)
		go e.list(e.lists, full)
	}
	if r.sweepAt != 0 && r.sweepAt <= now {
		n := min(r.portion, len(r.sweep))
		for _, key := range r.sweep[:n] {
			e.q.ask(now, key, wakeEvent, laneBackground)
		}
		r.sweep = r.sweep[n:]
		r.sweepAt = now + r.gap
		if len(r.sweep) == 0 {
			r.sweep, r.sweepAt = nil, 0
		}
	}
}

// list asks for the keys; it has a goroutine of its own, as a store may be slow.
func (e *Engine) list(parent context.Context, full bool) {
	defer e.workers.Done()
	ctx, cancel := context.WithTimeout(parent, listTimeout)
	defer cancel()
	var keys []Key
	err := guard(func() (err error) {
		keys, err = e.cfg.List(ctx)
		return err
	})
	e.do(func(now time.Duration) {
		r := &e.resync
		r.listing = false
		again := r.at != 0 // asked for during this listing, which may have been too early
		if err != nil {
			r.failures++
			r.full = r.full || full
			r.at = now + e.cfg.Backoff.Delay(r.failures)
			e.log.Warn("the keys could not be listed", "retry_in", r.at-now, "err", err)
			return
		}
		r.failures = 0
		if !again && e.cfg.ResyncInterval > 0 {
			r.at = now + e.cfg.ResyncInterval
		}
		e.look(now, e.withKnown(keys), full)
	})
}

// withKnown adds to the listed keys those the engine knows beyond them.
func (e *Engine) withKnown(listed []Key) []Key {
	seen := make(map[Key]struct{}, len(listed))
	for _, key := range listed {
		seen[key] = struct{}{}
	}
	for key := range e.q.entries {
		if _, ok := seen[key]; !ok {
			listed = append(listed, key)
		}
	}
	return listed
}

// look wakes the keys, all of them or as the watchdog does.
func (e *Engine) look(now time.Duration, keys []Key, full bool) {
	r := &e.resync
	r.sweep, r.sweepAt = nil, 0
	if full {
		for _, key := range keys {
			e.q.ask(now, key, wakeTimed, laneBackground)
		}
		return
	}
	if len(keys) == 0 {
		return
	}
	r.sweep = keys
	r.portion = (len(keys) + sweepSteps - 1) / sweepSteps
	r.gap = e.cfg.ResyncInterval / 2 / sweepSteps
	r.sweepAt = now
}
