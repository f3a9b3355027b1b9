package proxy

import (
	"net/http"
	"time"
)

// end ends all that is in flight on the target: streams and tunnels politely,
// with EndGrace for it, the rest at once. New connections to it are refused.
func (t *target) end() {
	t.mu.Lock()
	t.ended = true
	left := false
	for x := t.active.head; x != nil; x = x.next {
		left = x.endLocked(false) || left
	}
	t.mu.Unlock()
	t.closeIdle()
	if left {
		time.AfterFunc(t.p.cfg.EndGrace, t.endRest)
	}
}

// endRest cuts what has not ended within the grace.
func (t *target) endRest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for x := t.active.head; x != nil; x = x.next {
		if x.ended.Load() {
			x.endLocked(true)
		}
	}
}

// endLocked ends one exchange; the caller holds target.mu, so it cannot finish
// meanwhile and its client's connection is still its own. It reports whether
// the exchange has been asked politely.
func (x *exchange) endLocked(force bool) (asked bool) {
	x.ended.Store(true)
	if x.onEnd != nil {
		x.onEnd(force)
		return !force
	}
	x.c.close()
	if x.answered {
		// It may be stuck in writing to a client that does not read.
		_ = http.NewResponseController(x.w).SetWriteDeadline(time.Unix(1, 0))
	}
	return false
}
