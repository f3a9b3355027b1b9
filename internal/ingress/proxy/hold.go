package proxy

import (
	"fmt"
	"time"
)

// hold is the time one request spends waiting for a target.
type hold struct {
	since    time.Time
	service  *service // where it is counted; nil while it is not held
	redialer bool     // it has the service's redial token
}

// upSignal must be taken before a try, so that a success in between is seen.
func (h *hold) upSignal(rt *route) <-chan struct{} {
	if h.service == nil {
		return nil // the first try waits for nothing
	}
	return rt.service.upSignal()
}

// wait returns nil when it is time for another try.
func (h *hold) wait(x *exchange, rt *route, snap *snapshot, up <-chan struct{}, cause error) error {
	now := x.p.cfg.Now()
	if h.service == nil {
		h.since = now
		if err := h.enter(x, rt.service); err != nil {
			return fmt.Errorf("%w (%w)", err, cause)
		}
		up = rt.service.upSignal()
	} else if h.service != rt.service {
		h.move(rt.service)
	}
	left := rt.hold - now.Sub(h.since)
	if left <= 0 {
		return fmt.Errorf("%w: held for %s: %w", errHoldPassed, rt.hold, cause)
	}
	deadline := time.NewTimer(left)
	defer deadline.Stop()

	var tick <-chan time.Time
	token := rt.service.redialer
	if len(rt.targets) == 0 {
		token = nil // nothing to dial
	}
	for {
		if h.redialer {
			t := time.NewTimer(x.p.cfg.RedialEvery)
			defer t.Stop()
			tick, token = t.C, nil
		}
		select {
		case <-snap.changed:
			return nil
		case <-up:
			return nil
		case <-tick:
			return nil
		case <-token:
			h.redialer = true
		case <-x.ctx.Done():
			return x.ctx.Err()
		case <-deadline.C:
			return fmt.Errorf("%w: held for %s: %w", errHoldPassed, rt.hold, cause)
		}
	}
}

func (h *hold) enter(x *exchange, s *service) error {
	if x.p.held.Add(1) > int64(x.p.cfg.MaxHeld) {
		x.p.held.Add(-1)
		return errTooMany
	}
	if s.held.Add(1) > int64(x.p.cfg.MaxHeldPerService) {
		s.held.Add(-1)
		x.p.held.Add(-1)
		return errTooMany
	}
	h.service = s
	x.watch()
	x.p.changes.now()
	return nil
}

// move follows a route that now belongs to another service.
func (h *hold) move(s *service) {
	h.giveToken()
	h.service.held.Add(-1)
	s.held.Add(1)
	h.service = s
}

// succeeded wakes the others when this one had been held.
func (h *hold) succeeded(rt *route) {
	if h.service != nil {
		rt.service.wake()
	}
}

func (h *hold) leave(x *exchange) {
	if h.service == nil {
		return
	}
	h.giveToken()
	h.service.held.Add(-1)
	x.p.held.Add(-1)
	x.p.changes.now()
}

func (h *hold) giveToken() {
	if h.redialer {
		h.redialer = false
		h.service.redialer <- struct{}{} // never blocks: there is one token
	}
}
