package proxy

import (
	"context"
	"time"
)

// stopPoll is how often drain looks whether anything is in flight.
const stopPoll = 10 * time.Millisecond

func (p *Proxy) allTargets() []*target {
	p.mu.Lock()
	defer p.mu.Unlock()
	ts := make([]*target, 0, len(p.targets))
	for _, t := range p.targets {
		ts = append(ts, t)
	}
	return ts
}

func (p *Proxy) inFlight() int64 {
	var n int64
	for _, t := range p.allTargets() {
		n += t.inFlight()
	}
	return n
}

// endStreams asks all streams and tunnels to end, those that begin from now on
// too, and cuts them after EndGrace.
func (p *Proxy) endStreams() {
	p.leaving.Store(true)
	for _, t := range p.allTargets() {
		t.mu.Lock()
		for x := t.active.head; x != nil; x = x.next {
			if x.onEnd != nil {
				x.endLocked(false)
			}
		}
		t.mu.Unlock()
		time.AfterFunc(p.cfg.EndGrace, t.endRest)
	}
}

// endAll cuts everything that is in flight.
func (p *Proxy) endAll() {
	for _, t := range p.allTargets() {
		t.mu.Lock()
		for x := t.active.head; x != nil; x = x.next {
			x.endLocked(true)
		}
		t.mu.Unlock()
	}
}

// drain waits until nothing is in flight; at ctx's end it cuts what is left.
func (p *Proxy) drain(ctx context.Context) error {
	tick := time.NewTicker(stopPoll)
	defer tick.Stop()
	for p.inFlight() > 0 {
		select {
		case <-ctx.Done():
			p.endAll()
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// Close ends all that is in flight, closes all connections to targets and stops
// what New started. The proxy must take no request any more.
func (p *Proxy) Close() {
	p.endAll()
	for _, t := range p.allTargets() {
		p.mu.Lock()
		if t.drainTimer != nil {
			t.drainTimer.Stop()
		}
		p.mu.Unlock()
		t.closeIdle()
	}
	p.sweeper.close()
}
