package proxy

import "sync/atomic"

// changes tells the report stream that there is something new, without cost to
// requests when it is already told. Two kinds: what somebody waits for (a
// swap, the last request of a draining target, a held request) is told at
// once; counts of targets in use only now and then.
type changes struct {
	dirty  atomic.Bool
	urgent atomic.Bool
	notify chan struct{}
}

func newChanges() *changes { return &changes{notify: make(chan struct{}, 1)} }

func (c *changes) count() {
	if c.dirty.Load() {
		return
	}
	c.dirty.Store(true)
	c.signal()
}

func (c *changes) now() {
	c.dirty.Store(true)
	c.urgent.Store(true)
	c.signal()
}

func (c *changes) signal() {
	select {
	case c.notify <- struct{}{}:
	default:
	}
}
