package dockertest

import (
	"container/heap"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Clock is the time of a simulated world. Engines that share a clock share
// its lock too, so that several nodes form one world.
//
// A virtual clock moves only by Advance and by calls that take time (a stop
// that waits for its grace, a slow pull); such a call moves the clock to its
// own end, so two that overlap take as long as the longer one. A wall clock
// follows the time package, which makes it the clock for testing/synctest and
// for a daemon that runs on a simulated engine.
type Clock struct {
	mu     sync.Mutex // guards the whole simulated world
	wall   bool
	nanos  atomic.Int64 // virtual now
	timers timerHeap
	seq    uint64
	alarm  *time.Timer // wall only: fires at the first timer
	after  []func()    // run once the lock is released

	scripts map[string]Behaviour // of images that were saved, by id: an archive cannot hold them

	changed bool // since the wakers were last told
	wakers  map[chan struct{}]struct{}
}

// NewClock returns a virtual clock that stands at start.
func NewClock(start time.Time) *Clock {
	c := &Clock{wakers: map[chan struct{}]struct{}{}}
	c.nanos.Store(start.UnixNano())
	return c
}

// NewWallClock returns a clock that follows the time package.
func NewWallClock() *Clock {
	return &Clock{wall: true, wakers: map[chan struct{}]struct{}{}}
}

// Now is the current instant, in UTC.
func (c *Clock) Now() time.Time {
	if c.wall {
		return time.Now().UTC()
	}
	return time.Unix(0, c.nanos.Load()).UTC()
}

// Advance moves a virtual clock forward, letting everything due happen at its
// own instant on the way. It panics on a wall clock, which moves by itself.
// It must not be called from a hook or an event callback.
func (c *Clock) Advance(d time.Duration) {
	if c.wall {
		panic("dockertest: Advance on a wall clock")
	}
	c.lock()
	c.advanceTo(c.nanos.Load() + int64(max(d, 0)))
	c.unlock()
}

// Next is the instant at which something is due to happen next; false when
// nothing is. A test advances to it instead of guessing a step.
func (c *Clock) Next() (time.Time, bool) {
	c.lock()
	defer c.unlock()
	c.dropDead()
	if len(c.timers) == 0 {
		return time.Time{}, false
	}
	return time.Unix(0, c.timers[0].at).UTC(), true
}

// lock takes the world and, on a wall clock, first lets happen what is due.
func (c *Clock) lock() {
	c.mu.Lock()
	if c.wall {
		c.fireDue()
	}
}

// unlock releases the world, wakes whoever waits for a change and runs what
// was deferred until the lock is free.
func (c *Clock) unlock() {
	after := c.after
	c.after = nil
	if c.changed {
		c.changed = false
		for w := range c.wakers {
			select {
			case w <- struct{}{}:
			default:
			}
		}
	}
	c.mu.Unlock()
	for _, f := range after {
		f()
	}
}

// outside runs f without the lock. The caller holds it and holds it again on
// return, also of a panic.
func (c *Clock) outside(f func()) {
	c.unlock()
	defer c.lock()
	f()
}

// later runs f after the lock is released.
func (c *Clock) later(f func()) { c.after = append(c.after, f) }

// at schedules fn, which runs under the lock. The caller holds the lock.
func (c *Clock) at(t time.Time, fn func()) *timer {
	c.seq++
	tm := &timer{at: t.UnixNano(), seq: c.seq, fn: fn}
	heap.Push(&c.timers, tm)
	if c.wall {
		c.arm()
	}
	return tm
}

func (c *Clock) advanceTo(target int64) {
	for {
		c.dropDead()
		if len(c.timers) == 0 || c.timers[0].at > target {
			break
		}
		c.fireFirst()
	}
	if target > c.nanos.Load() {
		c.nanos.Store(target)
		c.changed = true
	}
}

// fireFirst lets the first timer happen at its instant.
func (c *Clock) fireFirst() {
	tm := heap.Pop(&c.timers).(*timer)
	if !c.wall && tm.at > c.nanos.Load() {
		c.nanos.Store(tm.at)
	}
	fn := tm.fn
	tm.fn = nil
	c.changed = true
	fn()
}

func (c *Clock) dropDead() {
	for len(c.timers) > 0 && c.timers[0].fn == nil {
		heap.Pop(&c.timers)
	}
}

func (c *Clock) fireDue() {
	for {
		c.dropDead()
		if len(c.timers) == 0 || c.timers[0].at > time.Now().UnixNano() {
			break
		}
		c.fireFirst()
	}
	c.arm()
}

func (c *Clock) arm() {
	c.dropDead()
	if len(c.timers) == 0 {
		return
	}
	d := time.Until(time.Unix(0, c.timers[0].at))
	if c.alarm == nil {
		c.alarm = time.AfterFunc(d, func() { c.lock(); c.unlock() })
		return
	}
	c.alarm.Reset(d)
}

// close stops the alarm of a wall clock; another engine on it sets it again.
func (c *Clock) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alarm != nil {
		c.alarm.Stop()
	}
}

// await passes time until cond holds. The caller holds the lock and holds it
// again on return. A virtual clock jumps from one due thing to the next, at
// most until limit; a wall clock waits for real, until ctx is done.
func (c *Clock) await(ctx context.Context, limit time.Time, cond func() bool) error {
	if !c.wall {
		for !cond() {
			c.dropDead()
			if len(c.timers) == 0 || c.timers[0].at > limit.UnixNano() {
				c.advanceTo(limit.UnixNano())
				return nil
			}
			c.fireFirst()
		}
		return nil
	}
	wake := c.waker()
	defer delete(c.wakers, wake)
	atLimit := c.at(limit, func() {})
	defer atLimit.cancel()
	for !cond() && c.Now().Before(limit) {
		c.unlock()
		select {
		case <-wake:
		case <-ctx.Done():
		}
		c.lock()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// waker returns a channel that receives after every change of the world.
func (c *Clock) waker() chan struct{} {
	w := make(chan struct{}, 1)
	c.wakers[w] = struct{}{}
	return w
}

// timer is one thing due; fn is nil once it happened or was cancelled.
type timer struct {
	at  int64
	seq uint64
	fn  func()
}

func (t *timer) cancel() {
	if t != nil {
		t.fn = nil
	}
}

// timerHeap orders by instant, then by the order of scheduling.
type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(*timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
