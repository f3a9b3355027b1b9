package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

// Hub takes the connections of machines. It is safe for concurrent use.
type Hub struct {
	opts Options
	tls  *tls.Config
	subs subscriptions

	mu       sync.Mutex
	sessions map[string]*session // by instance
	probing  map[string]bool     // instances of which a second one is being looked at
	pending  map[string]*pending // dials that are not answered, by id
	conns    map[*Conn]struct{}  // handed out
	load     map[string]int      // conns and pending, by instance
	shaking  map[netip.Addr]int  // handshakes under way
	shakes   int
	released bool // Release was called
}

// New prepares a hub; Serve makes it one.
func New(opts Options) (*Hub, error) {
	if err := opts.fill(); err != nil {
		return nil, err
	}
	peer := wire.Peer{Certificate: opts.Certificate, Roots: opts.Roots, Role: wire.RoleAgent, Now: opts.Now}
	return &Hub{
		opts:     opts,
		tls:      peer.Server(wire.ProtocolControl, wire.ProtocolDial),
		subs:     subscriptions{all: map[*Subscription]struct{}{}},
		sessions: map[string]*session{}, probing: map[string]bool{}, pending: map[string]*pending{},
		conns: map[*Conn]struct{}{}, load: map[string]int{}, shaking: map[netip.Addr]int{},
	}, nil
}

// Serve takes connections, of TCP and before TLS, until ctx is done. It closes the
// listener, and returns when everything that came by it has ended, what Dial handed out
// included. It may be called for several listeners. The error is nil when ctx was done.
func (h *Hub) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	var wg sync.WaitGroup
	defer func() {
		cancel()
		stop()
		_ = l.Close()
		wg.Wait()
		h.closeConns(func(c *Conn) bool { return c.by == l })
	}()
	const first, most = 5 * time.Millisecond, time.Second
	pause := first
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = c.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // no file descriptors left, as a rule
			h.opts.Log.Warn("a machine's connection could not be taken", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			pause = min(2*pause, most)
			continue
		}
		pause = first
		release, ok := h.begin(c.RemoteAddr())
		if !ok {
			_ = c.Close()
			continue
		}
		wg.Go(func() { h.take(ctx, l, c, release) })
	}
}

// begin counts a handshake, or refuses it.
func (h *Hub) begin(remote net.Addr) (release func(), ok bool) {
	var from netip.Addr
	if ap, err := netip.ParseAddrPort(remote.String()); err == nil {
		from = ap.Addr().Unmap()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shakes >= h.opts.Limits.Handshakes || h.shaking[from] >= h.opts.Limits.PerAddress {
		return nil, false
	}
	h.shakes++
	h.shaking[from]++
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.shakes--
		if h.shaking[from]--; h.shaking[from] == 0 {
			delete(h.shaking, from)
		}
	}), true
}

// take sees to one connection: its handshake, and what it is for. release is called once
// it is known.
func (h *Hub) take(ctx context.Context, by net.Listener, raw net.Conn, release func()) {
	defer release()
	kept := false
	conn := tls.Server(wire.Uncut(raw), h.tls)
	defer func() {
		if !kept {
			_ = conn.Close()
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	_ = conn.SetDeadline(time.Now().Add(h.opts.Timing.Handshake))
	if err := conn.HandshakeContext(ctx); err != nil {
		h.opts.Log.Debug("a connection is not from a machine of this cluster", "remote", raw.RemoteAddr().String(), "error", err)
		return
	}
	state := conn.ConnectionState()
	id, err := wire.Identify(state.PeerCertificates[0])
	if err != nil {
		return // the handshake has seen to it
	}
	switch state.NegotiatedProtocol {
	case wire.ProtocolControl:
		h.control(conn, id, release)
	case wire.ProtocolDial:
		if !h.denied(id.Serial) {
			kept = h.answer(conn, by, id)
		}
		if kept && h.denied(id.Serial) { // since it was asked, and Recheck did not see this one
			h.closeConns(func(c *Conn) bool { return c.Conn == conn })
		}
	}
}

func (h *Hub) denied(serial string) bool {
	return h.opts.Deny != nil && h.opts.Deny.Denied(serial)
}

// Recheck closes all that stands by a certificate which the deny-list has by now. Whoever
// changes the list calls it.
func (h *Hub) Recheck() {
	h.mu.Lock()
	var all []*session
	for _, s := range h.sessions {
		all = append(all, s)
	}
	h.mu.Unlock()
	for _, s := range all {
		if h.denied(s.id.Serial) {
			s.refuse(wire.CodeInstanceDeleted, deniedText)
		}
	}
	h.closeConns(func(c *Conn) bool { return h.denied(c.id.Serial) })
}

const deniedText = "this certificate holds no more"

// Online says whether a machine is connected.
func (h *Hub) Online(instanceID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[instanceID] != nil
}

// Node tells of one machine that is connected.
func (h *Hub) Node(instanceID string) (Node, bool) {
	h.mu.Lock()
	s := h.sessions[instanceID]
	h.mu.Unlock()
	if s == nil {
		return Node{}, false
	}
	return s.snapshot(), true
}

// Nodes are all machines that are connected, in no order.
func (h *Hub) Nodes() []Node {
	h.mu.Lock()
	all := make([]*session, 0, len(h.sessions))
	for _, s := range h.sessions {
		all = append(all, s)
	}
	h.mu.Unlock()
	out := make([]Node, len(all))
	for i, s := range all {
		out[i] = s.snapshot()
	}
	return out
}
