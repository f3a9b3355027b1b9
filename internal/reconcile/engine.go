package reconcile

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Engine runs controllers by key. Build it with [New], start it with
// [Engine.Run]; all its methods may be called from anywhere at any time, also
// before Run, when keys queue up, and after it, when they do nothing.
type Engine struct {
	cfg     Config
	factory Factory
	log     *slog.Logger
	epoch   time.Time
	nudge   chan struct{} // tells Run that an earlier time than the armed one came up

	mu      sync.Mutex
	q       *queue
	resync  resync
	phase   phase
	base    context.Context // parent of every pass; outlives lists by the drain
	lists   context.Context // parent of every listing
	active  int             // workers that exist
	armed   time.Duration   // what Run's timer is set to, 0 for nothing
	workers sync.WaitGroup
}

type phase uint8

const (
	phaseNew phase = iota
	phaseRunning
	phaseStopped
)

// New builds an engine that gets its controllers from factory.
func New(factory Factory, cfg Config) *Engine {
	cfg = cfg.withDefaults()
	return &Engine{
		cfg:     cfg,
		factory: factory,
		log:     cfg.Logger,
		epoch:   time.Now(),
		nudge:   make(chan struct{}, 1),
		q:       newQueue(),
	}
}

// clock is the monotonic time since the engine was built, never 0.
func (e *Engine) clock() time.Duration { return time.Since(e.epoch) + 1 }

// wall is the wall time of a clock reading, zero for 0.
func (e *Engine) wall(at time.Duration) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return e.cfg.Now().Add(at - e.clock()).Round(0)
}

// Enqueue runs a key now because what is wanted of it changed. It ends the
// error backoff of a failing key and forgets its failures. If the key is
// running, it runs once more as soon as that pass ends.
func (e *Engine) Enqueue(key Key) {
	e.do(func(now time.Duration) { e.q.ask(now, key, wakeDesired, laneSoon) })
}

// Kick runs a key now because something about it was observed. While the key is
// failing it changes nothing: the pass after the backoff sees what was observed.
func (e *Engine) Kick(key Key) {
	e.do(func(now time.Duration) { e.q.ask(now, key, wakeEvent, laneSoon) })
}

// EnqueueAfter runs a key once d has passed, also while it is failing. Of several
// such requests the earliest stands, together with the last pass's own
// RequeueAfter; it stands until its time has come, whatever runs before.
func (e *Engine) EnqueueAfter(key Key, d time.Duration) {
	e.do(func(now time.Duration) {
		if d <= 0 {
			e.q.ask(now, key, wakeTimed, laneSoon)
			return
		}
		e.q.after(e.q.entry(key), now+d)
	})
}

// Forget drops what is known of a key: its place in the queue, times, failures
// and last result. A pass that is running goes on, its result is dropped; to
// end it too, [Engine.Preempt] the key first. The key comes back when it is
// woken again.
func (e *Engine) Forget(key Key) {
	e.do(func(time.Duration) {
		ent := e.q.entries[key]
		if ent == nil {
			return
		}
		if ent.pass != nil {
			ent.pass.stale = true
		}
		e.q.forget(ent)
	})
}

// do changes the queue and starts what became ready.
func (e *Engine) do(change func(now time.Duration)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase == phaseStopped {
		return
	}
	change(e.clock())
	e.dispatch()
	e.rearm()
}

// dispatch starts workers for ready keys. The lock is held.
func (e *Engine) dispatch() {
	if e.phase != phaseRunning {
		return
	}
	for want := e.q.ready(); want > 0 && e.active < e.cfg.Workers; want-- {
		e.active++
		e.workers.Add(1)
		go e.work()
	}
}

// rearm wakes Run when the next time is earlier than what its timer is set to.
// The lock is held.
func (e *Engine) rearm() {
	if next := e.next(); next != 0 && (e.armed == 0 || next < e.armed) {
		select {
		case e.nudge <- struct{}{}:
		default:
		}
	}
}

// next is the next time at which there is something to do, 0 for none.
func (e *Engine) next() time.Duration {
	next := e.q.timers.first()
	for _, at := range e.resync.times() {
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}

// Run works until ctx ends. Then no pass starts any more; running ones may go
// on for Config.DrainTimeout, after which their contexts are cancelled. Run
// returns when the last of them has returned, with nil. A second call returns
// [ErrRunTwice].
func (e *Engine) Run(ctx context.Context) error {
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	if !e.start(ctx, base) {
		return ErrRunTwice
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-e.nudge:
		case <-ctx.Done():
			e.drain(cancel)
			return nil
		}
		if next, ok := e.tick(); ok {
			timer.Reset(next)
		} else {
			timer.Stop()
		}
	}
}

func (e *Engine) start(lists, base context.Context) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase != phaseNew {
		return false
	}
	e.phase, e.lists, e.base = phaseRunning, lists, base
	if e.cfg.List != nil {
		e.resync.full, e.resync.at = true, e.clock()
	}
	e.dispatch()
	return true
}

// tick does what is due and returns how long until the next time, if there is one.
func (e *Engine) tick() (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock()
	e.q.fire(now)
	e.tickResync(now)
	e.dispatch()
	e.armed = e.next()
	return max(e.armed-now, 0), e.armed != 0
}

// drain ends the engine as Run describes.
func (e *Engine) drain(cancel context.CancelCauseFunc) {
	e.mu.Lock()
	e.phase = phaseStopped
	e.mu.Unlock()
	cut := time.AfterFunc(e.cfg.DrainTimeout, func() {
		e.log.Warn("passes are cut short by the engine's end",
			"running", e.Stats().Running, "after", e.cfg.DrainTimeout)
		cancel(errStopped)
	})
	defer cut.Stop()
	e.workers.Wait()
}
