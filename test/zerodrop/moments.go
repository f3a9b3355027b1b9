package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// moment is a point in a deploy that can be waited for.
type moment string

// The moments: the first is ours, those of containers come from the engine, the
// others from the trace of the attempt.
const (
	atRequest moment = "request"
	atCreate  moment = "create"
	atStart   moment = "start"
	atProbe   moment = "probe"
	atCutover moment = "cutover"
	atDrain   moment = "drain"
	atStop    moment = "stop"
	atRemove  moment = "remove"
)

// spread is how long after each moment the kill comes at the latest. Short ones
// are about as long as the step that begins then.
var spread = map[moment]time.Duration{
	atRequest: 60 * time.Millisecond,
	atCreate:  60 * time.Millisecond,
	atStart:   100 * time.Millisecond,
	atProbe:   600 * time.Millisecond,
	atCutover: 25 * time.Millisecond,
	atDrain:   4 * time.Second,
	atStop:    200 * time.Millisecond,
	atRemove:  60 * time.Millisecond,
}

var allMoments = []moment{atRequest, atCreate, atStart, atProbe, atCutover, atDrain, atStop, atRemove}

// of says whether a change is sure to have the moment.
func (m moment) of(c change) bool {
	switch m {
	case atCreate, atStart, atProbe:
		return c.brings()
	case atDrain:
		return c.moves()
	case atStop, atRemove:
		return c.ends()
	case atRequest, atCutover:
	}
	return true
}

// maxDown is how long the control plane stays away at most.
const maxDown = 2500 * time.Millisecond

// kill is one planned end of the control plane.
type kill struct {
	at    moment
	delay time.Duration // after it
	down  time.Duration // until it is started again
	again time.Duration // if not 0, it is killed once more this long after that
}

func (k kill) String() string {
	s := fmt.Sprintf("%s after %s, back after %s", k.delay.Round(time.Millisecond), k.at, k.down.Round(time.Millisecond))
	if k.again > 0 {
		s += fmt.Sprintf(", killed again %s later", k.again.Round(time.Millisecond))
	}
	return s
}

// planKills spreads kills over changes, by their numbers, and over the moments
// as evenly as can be. More are planned than are needed, since a moment may be
// missed.
func planKills(rng *rand.Rand, steps []change, needed int) map[int]kill {
	plan := map[int]kill{}
	var left []moment
	for i, n := range rng.Perm(len(steps))[:min(needed+needed/2+1, len(steps))] {
		c := steps[n]
		at := slices.IndexFunc(left, func(m moment) bool { return m.of(c) })
		if at < 0 {
			fresh := slices.Clone(allMoments)
			rng.Shuffle(len(fresh), func(a, b int) { fresh[a], fresh[b] = fresh[b], fresh[a] })
			left = append(left, fresh...)
			at = slices.IndexFunc(left, func(m moment) bool { return m.of(c) })
		}
		k := kill{at: left[at], delay: upTo(rng, spread[left[at]]), down: upTo(rng, maxDown)}
		if i%4 == 3 {
			k.again = upTo(rng, 400*time.Millisecond)
		}
		left = slices.Delete(left, at, at+1)
		plan[c.number] = k
	}
	return plan
}

// upTo is a random time, never 0.
func upTo(rng *rand.Rand, d time.Duration) time.Duration {
	return 1 + time.Duration(rng.Int64N(int64(d)))
}

// clock tells who waits for a moment that it has come.
type clock struct {
	mu      sync.Mutex
	waiting map[moment][]chan struct{}
}

func newClock() *clock { return &clock{waiting: map[moment][]chan struct{}{}} }

// next is closed when the moment comes for the first time from now on.
func (c *clock) next(m moment) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan struct{})
	c.waiting[m] = append(c.waiting[m], ch)
	return ch
}

func (c *clock) strike(m moment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range c.waiting[m] {
		close(ch)
	}
	delete(c.waiting, m)
}

// pause waits and says whether it did so to the end.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
