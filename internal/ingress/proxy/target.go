package proxy

import (
	"sync"
	"sync/atomic"
	"time"
)

// removedBit of target.state says that the target is in no table. Below it is
// the number of requests and streams in flight. One word, so that acquiring
// and removing cannot cross: after a swap has set the bit no new request gets
// the target, and the count holds every one that did.
const removedBit = int64(1) << 62

// target is one address with its connections. It lives over swaps as long as
// a table names it, and after that until nothing is in flight on it.
type target struct {
	p    *Proxy
	id   string
	addr string
	node string // through which addr is reached; "" is this machine

	state   atomic.Int64
	badTill atomic.Int64 // UnixNano; a last choice until then

	dials chan struct{} // a slot per dial under way

	mu     sync.Mutex
	idle   []*upConn // the last one was used last
	active exchangeList
	ended  bool // the drain timeout has passed

	// Guarded by Proxy.mu.
	service       string
	drainTimeout  time.Duration
	drainingSince time.Time
	drainTimer    *time.Timer
}

// targetKey tells targets apart: a container that comes back at another
// address, or on another node, is another target.
type targetKey struct{ id, addr, node string }

func newTarget(p *Proxy, k targetKey) *target {
	return &target{p: p, id: k.id, addr: k.addr, node: k.node, dials: make(chan struct{}, p.cfg.MaxDials)}
}

// acquire counts one request in; false when the target has been removed.
func (t *target) acquire() bool {
	for {
		v := t.state.Load()
		if v&removedBit != 0 {
			return false
		}
		if t.state.CompareAndSwap(v, v+1) {
			t.p.changes.count()
			return true
		}
	}
}

// release counts it out again.
func (t *target) release() {
	v := t.state.Add(-1)
	if v&removedBit != 0 {
		t.p.changes.now()
		return
	}
	t.p.changes.count()
}

func (t *target) inFlight() int64 { return t.state.Load() &^ removedBit }

func (t *target) removed() bool { return t.state.Load()&removedBit != 0 }

// setRemoved flips the bit; the count stays.
func (t *target) setRemoved(removed bool) {
	for {
		v := t.state.Load()
		n := v &^ removedBit
		if removed {
			n |= removedBit
		}
		if t.state.CompareAndSwap(v, n) {
			return
		}
	}
}
