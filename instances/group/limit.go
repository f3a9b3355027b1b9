package group

import (
	"sync"
	"time"
)

// gate spaces the creates of a shard. Nobody waits in it: who comes too early gets a
// turn and comes back.
type gate struct {
	mu    sync.Mutex
	next  time.Time // when the next turn is free
	turns map[string]time.Time
}

// turnGrace is how long a turn is kept for somebody who does not come.
const turnGrace = time.Minute

// pass reports whether who may go now, and otherwise after how long.
func (g *gate) pass(who string, now time.Time, interval time.Duration) (ok bool, wait time.Duration) {
	if interval <= 0 {
		return true, 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	turn, has := g.turns[who]
	if !has || now.After(turn.Add(turnGrace)) {
		turn = now
		if g.next.After(now) {
			turn = g.next
		}
		g.next = turn.Add(interval)
	}
	if turn.After(now) {
		if g.turns == nil {
			g.turns = map[string]time.Time{}
		}
		g.turns[who] = turn
		return false, turn.Sub(now)
	}
	delete(g.turns, who)
	return true, 0
}

// leave gives a turn up.
func (g *gate) leave(who string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.turns, who)
}

// Turn reports whether somebody who makes a machine beside the groups may do so now, and
// otherwise after how long: all creates of a shard are spaced together.
func (g *Groups) Turn(who string) (ok bool, wait time.Duration) {
	conf := g.opts.Configs.Current()
	if conf == nil {
		return true, 0
	}
	return g.gate.pass(who, g.opts.Now(), conf.Shard.Timings.CreateInterval.Std())
}
