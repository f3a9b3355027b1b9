package hub

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

// pending is a dial that an agent has not answered.
type pending struct {
	instance string
	came     chan outcome // holds one
}

type outcome struct {
	conn *Conn
	err  error
}

// Dial opens a connection through a machine. Its halves end one by one; see Conn. kind
// tells where it leads; address is for KindAddress alone, an IP address with a port. It
// is bounded by ctx and by Timing.Dial; a machine that is offline is an error at once.
// Errors: ErrOffline, ErrNoAnswer, ErrRefused, ErrUnreachable, ErrBusy, ErrTarget, ctx's.
func (h *Hub) Dial(ctx context.Context, instanceID string, kind wire.Kind, address string) (net.Conn, error) {
	to := target{instanceID, kind, address}
	if err := to.check(); err != nil {
		return nil, failed(to, err)
	}
	conn, err := h.dial(ctx, to)
	if err != nil {
		return nil, failed(to, err)
	}
	return conn, nil
}

// Dialer is Dial in the form that clients take. The address that it is called with counts
// for KindAddress alone.
func (h *Hub) Dialer(instanceID string, kind wire.Kind) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		if kind != wire.KindAddress {
			address = ""
		}
		return h.Dial(ctx, instanceID, kind, address)
	}
}

func (t target) check() error {
	switch t.kind {
	case wire.KindEngine, wire.KindHost:
		if t.address != "" {
			return fmt.Errorf("%w: an address is for the kind %s alone", ErrTarget, wire.KindAddress)
		}
	case wire.KindAddress:
		if ap, err := netip.ParseAddrPort(t.address); err != nil || ap.Port() == 0 {
			return fmt.Errorf("%w: %q is no IP address with a port", ErrTarget, t.address)
		}
	default:
		return fmt.Errorf("%w: kind %q", ErrTarget, t.kind)
	}
	return nil
}

func (h *Hub) dial(caller context.Context, to target) (*Conn, error) {
	id, p, s, err := h.ask(to)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(caller, h.opts.Timing.Dial)
	defer cancel()
	if !s.send(wire.Message{Dial: &wire.Dial{ID: id, Kind: to.kind, Address: to.address}}) {
		return h.giveUp(id, p, ErrBusy)
	}
	select {
	case o := <-p.came:
		return o.conn, o.err
	case <-s.lost:
		return h.giveUp(id, p, ErrOffline)
	case <-ctx.Done():
		return h.giveUp(id, p, late(caller))
	}
}

// ask notes a dial.
func (h *Hub) ask(to target) (id string, p *pending, s *session, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s = h.sessions[to.instance]
	switch {
	case s == nil:
		return "", nil, nil, ErrOffline
	case h.load[to.instance] >= h.opts.Limits.Conns:
		return "", nil, nil, ErrBusy
	}
	id, p = rand.Text(), &pending{instance: to.instance, came: make(chan outcome, 1)}
	h.pending[id] = p
	h.load[to.instance]++
	return id, p, s, nil
}

// giveUp ends a dial that was not answered. What came at the last moment is closed.
func (h *Hub) giveUp(id string, p *pending, err error) (*Conn, error) {
	h.mu.Lock()
	waiting := h.pending[id] == p
	if waiting {
		delete(h.pending, id)
		h.unload(p.instance)
	}
	h.mu.Unlock()
	if !waiting {
		if o := <-p.came; o.conn != nil {
			_ = o.conn.Close()
		}
	}
	return nil, err
}

// unload is called with the lock.
func (h *Hub) unload(instance string) {
	if h.load[instance]--; h.load[instance] <= 0 {
		delete(h.load, instance)
	}
}

// refused notes that an agent does not do a dial. Whether it was asked for one is the
// answer.
func (h *Hub) refused(instance string, d *wire.Dialed) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.pending[d.ID]
	if p == nil || p.instance != instance {
		return false
	}
	delete(h.pending, d.ID)
	h.unload(instance)
	p.came <- outcome{err: told(d.Code, d.Error)}
	return true
}

// answer hands a connection to whoever asked for it.
func (h *Hub) answer(conn *tls.Conn, by net.Listener, id wire.Identity) bool {
	var first wire.Opened
	if err := wire.ReadFrame(conn, &first); err != nil {
		h.opts.Log.Debug("a machine's connection says not what it is for", "instance", id.InstanceID, "error", err)
		return false
	}
	if first.Error != "" {
		h.refused(id.InstanceID, &wire.Dialed{ID: first.ID, Error: wire.Clip(first.Error)})
		return false
	}
	_ = conn.SetDeadline(time.Time{})
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.pending[first.ID]
	if p == nil || p.instance != id.InstanceID {
		h.opts.Log.Debug("a machine's connection answers no dial of its own", "instance", id.InstanceID)
		return false
	}
	delete(h.pending, first.ID)
	c := &Conn{Conn: conn, hub: h, by: by, id: id}
	h.conns[c] = struct{}{}
	p.came <- outcome{conn: c}
	return true
}
