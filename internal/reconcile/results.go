package reconcile

import (
	"slices"
	"time"
)

// Outcome is what one pass left behind.
type Outcome struct {
	Key Key
	// Conditions are those the pass returned, with their transition times; when
	// it returned none together with an error, those that stood before.
	Conditions []Condition
	Err        error
	// Failures counts the failed passes in a row, up to this one.
	Failures int
	// Gone: the factory said that the key no longer exists.
	Gone bool
	// Interrupted: the pass was preempted, or cut by the engine's end, and failed
	// for it. Its conditions were dropped; the key runs again.
	Interrupted bool

	// Lag is the time between the key becoming ready to run and its start.
	Lag  time.Duration
	Took time.Duration
	// Ended is the wall time of the pass's end.
	Ended time.Time
	// Next is when the key runs again if nothing wakes it before; zero when it rests.
	Next time.Time
}

// last is what an entry keeps of its latest pass that was not interrupted.
type last struct {
	conditions []Condition // never changed in place
	controller string
	err        error
	ended      time.Duration
	took       time.Duration
	lag        time.Duration
	loaded     bool // conditions are, or replace, what the store had
	unsaved    bool // the store has not got the conditions
}

// Results returns what the last pass of a key left, and false when the key is
// unknown or has not run yet.
func (e *Engine) Results(key Key) (Outcome, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ent := e.q.entries[key]
	if ent == nil || ent.last.ended == 0 {
		return Outcome{}, false
	}
	return e.outcome(ent), true
}

// outcome is called with the lock held.
func (e *Engine) outcome(ent *entry) Outcome {
	next := ent.due()
	if ent.asked != 0 && (ent.asked != wakeEvent || ent.failures == 0) {
		next = e.clock()
	}
	return Outcome{
		Key:        ent.key,
		Conditions: slices.Clone(ent.last.conditions),
		Err:        ent.last.err,
		Failures:   int(ent.failures),
		Lag:        ent.last.lag,
		Took:       ent.last.took,
		Ended:      e.wall(ent.last.ended),
		Next:       e.wall(next),
	}
}

// Stats counts keys by what they are doing now.
type Stats struct {
	Known   int // keys the engine knows
	Ready   int // wait for a worker
	Blocked int // wait for their group
	Running int
	Timed   int // have a time at which they run
	Failing int // their last pass failed
	Parked  int // held by Preempt
}

// Stats walks all keys: for a status page, not for a loop.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Stats{Known: len(e.q.entries), Timed: len(e.q.timers)}
	for _, ent := range e.q.entries {
		switch ent.state {
		case stateQueued, stateClaimed:
			s.Ready++
		case stateBlocked:
			s.Blocked++
		case stateRunning:
			s.Running++
		}
		if ent.failures > 0 {
			s.Failing++
		}
		if ent.park != nil {
			s.Parked++
		}
	}
	return s
}
