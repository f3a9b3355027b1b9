package reconcile

import "time"

// wake says why a key should run. The kinds are bits: a running key collects
// those that arrive.
type wake uint8

const (
	// wakeEvent gives way to the error backoff.
	wakeEvent wake = 1 << iota
	// wakeTimed runs whatever the backoff says and keeps the count of failures.
	wakeTimed
	// wakeDesired runs and forgets the failures.
	wakeDesired
)

// lane is which of the two ready lists a key waits in. Without the second one
// a change that somebody waits for would stand behind a resync of every key.
type lane uint8

const (
	laneSoon lane = iota
	laneBackground
	lanes
)

// soonInARow is how many keys of laneSoon may run before one of the background
// does.
const soonInARow = 4

type state uint8

const (
	stateIdle    state = iota
	stateQueued        // in one of the lanes
	stateClaimed       // a worker holds it and asks for its group
	stateBlocked       // in its group's waiting list
	stateRunning
)

// entry is what the engine knows of one key. There is one per key for as long
// as the key exists, so fields here are counted in bytes. Times are durations
// since the engine was built; 0 is none.
type entry struct {
	key Key

	prev, next *entry // links of the fifo
	in         *fifo

	wish  time.Duration // EnqueueAfter: stands until its time has come
	retry time.Duration // RequeueAfter or backoff: replaced by every pass
	since time.Duration // when it was last queued, for the lag

	group *group        // whose slot it owns
	pass  *pass         // while running
	park  chan struct{} // while parked; closed on release
	last  last

	failures int32
	slot     int32 // in timers
	state    state
	lane     lane
	asked    wake
	// forgotten: the key goes when it is idle, unless it is woken before that.
	forgotten bool
}

// due is the earlier of the entry's times, 0 when it has none.
func (ent *entry) due() time.Duration {
	if ent.wish == 0 || (ent.retry != 0 && ent.retry < ent.wish) {
		return ent.retry
	}
	return ent.wish
}

// queue is the state machine of all keys: which are ready, which wait for a
// time, for their group or for the end of a hold. It has no lock, no goroutine
// and no clock; the engine has.
type queue struct {
	entries map[Key]*entry
	lanes   [lanes]fifo
	groups  map[string]*group
	timers  timers
	soon    int // keys taken from laneSoon in a row while the background waited
}

func newQueue() *queue {
	return &queue{entries: map[Key]*entry{}, groups: map[string]*group{}}
}

func (q *queue) entry(key Key) *entry {
	ent := q.entries[key]
	if ent == nil {
		ent = &entry{key: key, slot: unslotted}
		q.entries[key] = ent
	}
	return ent
}

// ask wakes a key now.
func (q *queue) ask(now time.Duration, key Key, w wake, ln lane) {
	q.wake(now, q.entry(key), w, ln)
}

func (q *queue) wake(now time.Duration, ent *entry, w wake, ln lane) {
	ent.forgotten = false
	if w == wakeDesired {
		ent.failures = 0
		q.setRetry(ent, 0)
	}
	if ent.asked == 0 || ln < ent.lane {
		q.setLane(ent, ln)
	}
	ent.asked |= w
	if ent.state == stateIdle {
		q.settleIdle(now, ent)
	}
}

// setLane moves a key that waits in the background forward when somebody asks
// for it soon.
func (q *queue) setLane(ent *entry, ln lane) {
	if ent.state == stateQueued && ent.lane != ln {
		ent.in.remove(ent)
		q.lanes[ln].pushBack(ent)
	}
	ent.lane = ln
}

// settleIdle decides what an idle key does next: run, wait or go.
func (q *queue) settleIdle(now time.Duration, ent *entry) {
	if ent.asked == wakeEvent && ent.failures > 0 {
		ent.asked = 0 // the pass after the backoff looks at the world anyway
	}
	switch {
	case ent.park != nil:
	case ent.asked != 0:
		ent.state = stateQueued
		ent.since = now
		q.lanes[ent.lane].pushBack(ent)
	case ent.forgotten:
		delete(q.entries, ent.key)
	}
}

// after asks for a run at a time; of several the earliest stands.
func (q *queue) after(ent *entry, at time.Duration) {
	ent.forgotten = false
	if ent.wish == 0 || at < ent.wish {
		ent.wish = at
		q.timers.update(ent)
	}
}

func (q *queue) setRetry(ent *entry, at time.Duration) {
	if ent.retry != at {
		ent.retry = at
		q.timers.update(ent)
	}
}

// fire wakes every key whose time has come.
func (q *queue) fire(now time.Duration) {
	for first := q.timers.first(); first != 0 && first <= now; first = q.timers.first() {
		ent := q.timers[0]
		ln := laneSoon
		if ent.wish != 0 && ent.wish <= now {
			ent.wish = 0
		} else if ent.failures > 0 {
			ln = laneBackground
		}
		if ent.retry != 0 && ent.retry <= now {
			ent.retry = 0
		}
		q.timers.update(ent)
		q.wake(now, ent, wakeTimed, ln)
	}
}

func (q *queue) ready() int { return q.lanes[laneSoon].n + q.lanes[laneBackground].n }

// claim takes the next ready key. The caller finds out the key's group and
// calls admit.
func (q *queue) claim() *entry {
	from := &q.lanes[laneSoon]
	background := &q.lanes[laneBackground]
	switch {
	case background.n == 0:
		q.soon = 0
	case from.n == 0 || q.soon >= soonInARow:
		from, q.soon = background, 0
	default:
		q.soon++
	}
	ent := from.head
	if ent != nil {
		from.remove(ent)
		ent.state = stateClaimed
	}
	return ent
}

// admit starts a claimed key, or sends it to wait for its group. It returns
// whether the key runs now.
func (q *queue) admit(now time.Duration, ent *entry, groupName string, limit int) bool {
	if ent.park != nil || ent.asked == 0 { // parked or forgotten while claimed
		q.leaveGroup(ent)
		ent.state = stateIdle
		q.settleIdle(now, ent)
		return false
	}
	if !q.enterGroup(ent, groupName, limit) {
		ent.state = stateBlocked
		return false
	}
	ent.state, ent.asked = stateRunning, 0
	ent.retry = 0
	if ent.wish <= now {
		ent.wish = 0
	}
	q.timers.update(ent)
	return true
}

// verdict is what the end of a pass means for its key.
type verdict struct {
	failed      bool
	interrupted bool          // cancelled by us: counts neither way, to be done again
	gone        bool          // the key no longer exists
	wait        time.Duration // RequeueAfter, or the backoff of a failed pass; 0 is none
}

// settle records the verdict of a running key; finish lets it go. Between the
// two the key still counts as running.
func (q *queue) settle(now time.Duration, ent *entry, v verdict) {
	switch {
	case ent.forgotten:
		return
	case v.interrupted:
		ent.asked |= wakeTimed
		return
	case v.gone && ent.asked == 0:
		q.forget(ent)
		return
	case v.failed:
		ent.failures++
	default:
		ent.failures = 0
	}
	if ent.asked&wakeDesired != 0 {
		ent.failures = 0 // they were failures of what is no longer wanted
		return
	}
	if v.wait > 0 {
		q.setRetry(ent, now+v.wait)
	}
}

func (q *queue) finish(now time.Duration, ent *entry) {
	ent.state = stateIdle
	q.leaveGroup(ent)
	q.settleIdle(now, ent)
}

// forget drops all that is known of a key, at once or when its pass or hold ends.
func (q *queue) forget(ent *entry) {
	q.unqueue(ent)
	ent.asked, ent.failures, ent.wish, ent.retry = 0, 0, 0, 0
	q.timers.update(ent)
	ent.last = last{}
	ent.forgotten = true
	if ent.state == stateIdle {
		q.settleIdle(0, ent)
	}
}

// unqueue takes a key that waits for a worker or its group out of the line.
func (q *queue) unqueue(ent *entry) {
	if ent.state != stateQueued && ent.state != stateBlocked {
		return
	}
	ent.in.remove(ent)
	ent.state = stateIdle
	q.leaveGroup(ent)
}

// parkKey holds a key back until unpark. A key nobody asked for before is
// forgotten again with the end of the hold.
func (q *queue) parkKey(key Key) *entry {
	ent := q.entries[key]
	if ent == nil {
		ent = q.entry(key)
		ent.forgotten = true
	}
	ent.park = make(chan struct{})
	q.unqueue(ent)
	return ent
}

func (q *queue) unpark(now time.Duration, ent *entry) {
	close(ent.park)
	ent.park = nil
	if ent.state == stateIdle {
		q.settleIdle(now, ent)
	}
}
