package proxy

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// sweeper looks at requests that are not answered yet every SlowAfter: it gives
// a slow one its response deadline and the watch on its client. So the quick
// ones, nearly all, need no timer and no watch of their own. It closes expired
// idle connections too. With nothing in flight and nothing idle it sleeps.
type sweeper struct {
	awake atomic.Bool
	kick  chan struct{}
	stop  chan struct{}
	done  sync.WaitGroup
}

func (s *sweeper) start(p *Proxy) {
	s.kick = make(chan struct{}, 1)
	s.stop = make(chan struct{})
	s.done.Go(func() { s.run(p) })
}

// wake is called for every exchange and nearly always finds the sweeper awake.
func (s *sweeper) wake() {
	if s.awake.Load() || s.awake.Swap(true) {
		return
	}
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

func (s *sweeper) close() {
	close(s.stop)
	s.done.Wait()
}

func (s *sweeper) run(p *Proxy) {
	for {
		select {
		case <-s.stop:
			return
		case <-s.kick:
		}
		tick := time.NewTicker(p.cfg.SlowAfter)
		for busy := true; busy; {
			select {
			case <-s.stop:
				tick.Stop()
				return
			case <-tick.C:
			}
			// Before looking, so that an exchange that begins meanwhile kicks.
			s.awake.Store(false)
			if busy = p.sweep(); busy {
				s.awake.Store(true)
			}
		}
		tick.Stop()
	}
}

// sweep reports whether there is anything to come back for.
func (p *Proxy) sweep() (busy bool) {
	p.mu.Lock()
	targets := make([]*target, 0, len(p.targets))
	for _, t := range p.targets {
		targets = append(targets, t)
	}
	p.mu.Unlock()
	now := p.cfg.Now()
	for _, t := range targets {
		if t.armSlow(now) {
			busy = true
		}
		if t.expireIdle(now) {
			busy = true
		}
	}
	return busy
}

// armSlow arms the exchanges that have waited for SlowAfter. The newest are in
// front and those behind an armed one are armed. It reports whether an exchange
// was left unarmed.
func (t *target) armSlow(now time.Time) (young bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for x := t.active.head; x != nil && !x.armed; x = x.next {
		if now.Sub(x.start) < t.p.cfg.SlowAfter {
			young = true
			continue
		}
		x.armLocked()
	}
	return young
}

func (x *exchange) armLocked() {
	x.armed = true
	nc := x.c.nc
	if x.onEnd == nil {
		x.watch() // not for a tunnel: its client is read from
	}
	x.stopCancel = context.AfterFunc(x.ctx, func() { _ = nc.Close() })
	// A streamed upload sets its own deadlines.
	if !x.answered && x.body.kind != bodyStream {
		_ = nc.SetDeadline(x.start.Add(x.p.cfg.ResponseTimeout))
	}
}
