package hub

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

// queued bounds the messages that wait for an agent to read them.
const queued = 64

// session is one control connection whose hello was read.
type session struct {
	hub     *Hub
	conn    *tls.Conn
	id      wire.Identity
	token   string    // that the next connection of this process shows
	expires time.Time // the certificate
	out     chan wire.Message
	lost    chan struct{} // closed when it ended, and nobody took over
	ended   chan struct{} // closed when it ended
	retired chan struct{} // closed when another took over

	mu     sync.Mutex
	node   Node
	until  time.Time     // set when another took over
	beats  chan struct{} // closed and replaced at every heartbeat
	reason string        // why it ends, when the hub ends it
}

// control sees to a control connection until it ends.
func (h *Hub) control(conn *tls.Conn, id wire.Identity, release func()) {
	if h.denied(id.Serial) {
		h.refuseBare(conn, wire.Refused{Code: wire.CodeInstanceDeleted, Error: deniedText})
		return
	}
	m, err := wire.ReadMessage(conn)
	if err == nil && m.Hello == nil {
		err = wire.ErrFrame
	}
	if err != nil {
		h.opts.Log.Debug("a machine did not say hello", "instance", id.InstanceID, "error", err)
		return
	}
	if m.Hello.InstanceID != id.InstanceID {
		h.opts.Log.Warn("a machine gives itself out for another one", "instance", id.InstanceID, "says", m.Hello.InstanceID)
		h.refuseBare(conn, wire.Refused{Code: wire.CodeIdentityMismatch, Error: "the certificate is that of another instance"})
		return
	}
	s := h.newSession(conn, id, m.Hello)
	// It is queued before anybody can dial.
	s.out <- wire.Message{Welcome: &wire.Welcome{Resume: s.token, HeartbeatMS: max(h.opts.Timing.Heartbeat.Milliseconds(), 1)}}
	written := make(chan struct{})
	if refused := h.admit(s, m.Hello); refused != nil {
		h.refuseBare(conn, *refused)
		return
	}
	release()
	_ = conn.SetDeadline(time.Time{})
	if h.denied(id.Serial) { // since it was asked, and Recheck did not see this one
		s.refuse(wire.CodeInstanceDeleted, deniedText)
	}
	go func() {
		defer close(written)
		s.write()
	}()
	err = s.read()
	close(s.ended)
	h.remove(s, s.why(err))
	_ = conn.Close()
	<-written
}

func (h *Hub) newSession(conn *tls.Conn, id wire.Identity, hello *wire.Hello) *session {
	now := h.opts.Now()
	return &session{
		hub: h, conn: conn, id: id, token: rand.Text(),
		expires: conn.ConnectionState().PeerCertificates[0].NotAfter,
		out:     make(chan wire.Message, queued),
		lost:    make(chan struct{}), ended: make(chan struct{}), retired: make(chan struct{}), beats: make(chan struct{}),
		node: Node{
			InstanceID: id.InstanceID, Tenant: id.Tenant, Serial: id.Serial, Remote: conn.RemoteAddr().String(),
			Version: hello.Version, BootID: hello.BootID, Facts: hello.Facts, Connected: now, Heartbeat: now,
		},
	}
}

// refuseBare says why, on a connection that has no writer.
func (h *Hub) refuseBare(conn *tls.Conn, r wire.Refused) {
	_ = conn.SetWriteDeadline(time.Now().Add(h.opts.Timing.Write))
	_ = wire.WriteFrame(conn, wire.Message{Refused: &r})
}

// write sends what is queued until the session ends or is taken over from.
func (s *session) write() {
	for {
		var m wire.Message
		select {
		case m = <-s.out:
		case <-s.ended:
			return
		}
		_ = s.conn.SetWriteDeadline(time.Now().Add(s.hub.opts.Timing.Write))
		if err := wire.WriteFrame(s.conn, m); err != nil {
			s.end("it does not take what it is sent")
			return
		}
		switch {
		case m.Refused != nil:
			s.end(m.Refused.Error)
			return
		case m.Bye != nil:
			_ = s.conn.CloseWrite()
			return
		}
	}
}

// send queues a message. An agent for which it does not fit has not read for long.
func (s *session) send(m wire.Message) bool {
	select {
	case s.out <- m:
		return true
	default:
		return false
	}
}

// read takes frames until the session ends, and says why it did.
func (s *session) read() error {
	bucket := newBucket(s.hub.opts.Limits, time.Now())
	alive := time.Now()
	for {
		_ = s.conn.SetReadDeadline(s.deadline(alive))
		m, err := wire.ReadMessage(s.conn)
		if err != nil {
			return err
		}
		now := time.Now()
		// A refusal that was asked for is paid for by the dial.
		asked := m.Dialed != nil && s.hub.refused(s.id.InstanceID, m.Dialed)
		if !asked && !bucket.take(now) {
			return errors.New("it sends too many frames")
		}
		switch {
		case m.Heartbeat != nil:
			alive = now
			s.beat(m.Heartbeat)
			if !s.send(wire.Message{Ack: &wire.Ack{Seq: m.Heartbeat.Seq}}) && !s.isRetired() {
				return errors.New("it does not read what it is sent")
			}
		case m.Notice != nil:
			s.notice(m.Notice)
		case m.Dialed != nil:
		default:
			return fmt.Errorf("%w: not what an agent says", wire.ErrFrame)
		}
	}
}

// deadline is for the next frame: only heartbeats put it off, and never beyond the
// certificate's end.
func (s *session) deadline(alive time.Time) time.Time {
	if s.isRetired() {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.until
	}
	by := alive.Add(wire.HeartbeatMisses * s.hub.opts.Timing.Heartbeat)
	// The certificate is judged by the hub's clock, the deadline by the kernel's.
	if left := s.expires.Sub(s.hub.opts.Now()); time.Now().Add(left).Before(by) {
		return time.Now().Add(left)
	}
	return by
}

func (s *session) beat(b *wire.Heartbeat) {
	s.mu.Lock()
	s.node.Heartbeat, s.node.Metrics = s.hub.opts.Now(), b.Metrics
	close(s.beats)
	s.beats = make(chan struct{})
	node := s.node
	s.mu.Unlock()
	if !s.isRetired() {
		s.hub.subs.publish(Event{Kind: EventHeartbeat, At: node.Heartbeat, Node: node})
	}
}

func (s *session) notice(n *wire.Notice) {
	s.mu.Lock()
	s.node.Notice = n
	node := s.node
	s.mu.Unlock()
	s.hub.opts.Log.Warn("a machine gives notice", "instance", s.id.InstanceID, "kind", n.Kind, "at", n.At)
	s.hub.subs.publish(Event{Kind: EventNotice, At: s.hub.opts.Now(), Node: node})
}

// probe asks for a sign of life.
func (s *session) probe(ctx context.Context) bool {
	s.mu.Lock()
	beats := s.beats
	s.mu.Unlock()
	if !s.send(wire.Message{Ping: &wire.Ping{}}) {
		return false
	}
	select {
	case <-beats:
		return true
	case <-s.ended:
	case <-ctx.Done():
	}
	return false
}

// retire has the agent's other connection take over: what is asked already may still be
// answered, and then it ends.
func (s *session) retire() {
	until := time.Now().Add(s.hub.opts.Timing.Dial)
	s.mu.Lock()
	s.until = until
	s.mu.Unlock()
	close(s.retired)
	if !s.send(wire.Message{Bye: &wire.Bye{}}) {
		s.end("")
	}
	_ = s.conn.SetReadDeadline(until)
}

func (s *session) isRetired() bool {
	select {
	case <-s.retired:
		return true
	default:
		return false
	}
}

// refuse ends the session with a word to the agent, when it still listens.
func (s *session) refuse(code, text string) {
	s.mu.Lock()
	s.reason = text
	s.mu.Unlock()
	if !s.send(wire.Message{Refused: &wire.Refused{Code: code, Error: text}}) {
		s.end(text)
	}
}

// end cuts the connection, which ends read and write.
func (s *session) end(reason string) {
	s.mu.Lock()
	if s.reason == "" {
		s.reason = reason
	}
	s.mu.Unlock()
	_ = s.conn.NetConn().Close()
}

func (s *session) why(err error) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.reason != "":
		return s.reason
	case errors.Is(err, os.ErrDeadlineExceeded) && !s.hub.opts.Now().Before(s.expires):
		return "its certificate has expired"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "nothing was heard of it in time"
	case errors.Is(err, net.ErrClosed):
		return "this server ends"
	case errors.Is(err, io.EOF):
		return "it closed the connection"
	}
	return err.Error()
}

func (s *session) snapshot() Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.node
}
