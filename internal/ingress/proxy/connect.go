package proxy

import (
	"errors"
	"time"
)

var (
	errNoRoute    = errors.New("no route for this host and path")
	errTooMany    = errors.New("too many requests are held already")
	errHoldPassed = errors.New("no target took the request in time")
)

// connect finds the exchange a target and a connection to it: the route's
// targets in the order of pick, each once; when none takes it, the request is
// held until the table changes, a dial of another held request succeeds or,
// for one of them, the redial cadence comes round.
//
// On success x.t is acquired and x.c is in use. Errors are errNoRoute,
// errTooMany, errHoldPassed (with the last dial's error) or the client's
// context.
func (x *exchange) connect() error {
	var h hold
	defer h.leave(x)
	for {
		snap := x.p.snap.Load()
		rt := snap.match(x.host, x.path)
		if rt == nil {
			return errNoRoute
		}
		x.rt = rt
		up := h.upSignal(rt)
		err := x.tryTargets(rt)
		if err == nil {
			h.succeeded(rt)
			return nil
		}
		if x.ctx.Err() != nil {
			return x.ctx.Err()
		}
		if errors.Is(err, errRemoved) {
			continue // a swap crossed us: there is a newer snapshot
		}
		if err := h.wait(x, rt, snap, up, err); err != nil {
			return err
		}
	}
}

// tryTargets tries each target of the route once. errRemoved asks for another
// round on the newest snapshot.
func (x *exchange) tryTargets(rt *route) error {
	x.tried = x.tried[:0]
	var last error
	for {
		var now int64
		if len(rt.targets) > 1 {
			now = x.p.cfg.Now().UnixNano()
		}
		t := rt.pick(x.tried, now)
		if t == nil {
			if last == nil {
				last = errors.New("the service has no target")
			}
			return last
		}
		if !t.acquire() {
			return errRemoved
		}
		limit := x.p.cfg.DialTimeout
		if len(x.tried)+1 < len(rt.targets) {
			limit = min(limit, t.patience())
		}
		c, err := t.conn(x.ctx, x.maxIdle(), limit)
		if err == nil {
			if x.attach(t, c) {
				return nil
			}
			c.close()
			err = errRemoved
		}
		t.release()
		if x.ctx.Err() != nil || errors.Is(err, errRemoved) {
			return err
		}
		last = err
		x.tried = append(x.tried, t)
	}
}

// maxIdle is the age of a pooled connection that the exchange may take.
func (x *exchange) maxIdle() time.Duration {
	switch {
	case x.fresh:
		return 0
	case x.repeatable():
		return x.p.cfg.UpstreamIdle
	default:
		return x.p.cfg.UnsafeIdle
	}
}
