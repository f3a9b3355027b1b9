package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

// errBye: the other end wants another connection in place of this one, or has it already.
var errBye = errors.New("another connection takes over")

// session is one control connection.
type session struct {
	link   *link
	conn   *tls.Conn
	resume string
	every  time.Duration // from one heartbeat to the next
	ended  chan struct{}
	err    error // why it ended; to be read once it has

	writing sync.Mutex
	seq     uint64 // guarded by writing
	bye     atomic.Bool
	opening sync.WaitGroup // dials that are neither done nor refused
}

// greet says hello and waits for the welcome. Its caller bounds it.
func (s *session) greet(resume string) error {
	cfg := &s.link.agent.cfg
	err := wire.WriteFrame(s.conn, wire.Message{Hello: &wire.Hello{
		InstanceID: s.link.agent.boot.InstanceID, Version: cfg.Version, BootID: cfg.BootID, Resume: resume, Facts: cfg.Facts(),
	}})
	if err != nil {
		return err
	}
	m, err := wire.ReadMessage(s.conn)
	switch {
	case err != nil:
		return err
	case m.Refused != nil:
		return &refusal{code: m.Refused.Code, text: m.Refused.Error}
	case m.Welcome == nil:
		return wire.ErrFrame
	}
	s.resume, s.every = m.Welcome.Resume, m.Welcome.Heartbeat()
	if own := cfg.Timing.Heartbeat; own > 0 {
		s.every = min(s.every, own)
	}
	return nil
}

// run is the connection until it ends.
func (s *session) run(life context.Context) {
	l := s.link
	l.mu.Lock()
	l.current = s
	notice := l.last
	l.mu.Unlock()
	ctx, cancel := context.WithCancel(life)
	stop := context.AfterFunc(ctx, func() { _ = s.conn.NetConn().Close() })
	var beating sync.WaitGroup
	beating.Go(func() {
		if notice != nil {
			s.send(wire.Message{Notice: notice})
		}
		s.beats(ctx)
	})
	s.err = s.read(life)
	if s.bye.Load() {
		s.opening.Wait()
		_ = s.conn.Close()
	}
	l.mu.Lock()
	if l.current == s {
		l.current = nil
	}
	l.mu.Unlock()
	cancel()
	stop()
	_ = s.conn.NetConn().Close()
	beating.Wait()
	close(s.ended)
}

func (s *session) beats(ctx context.Context) {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		s.beat()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *session) beat() {
	m := s.link.agent.cfg.Metrics()
	m.Dials = len(s.link.slots)
	s.writing.Lock()
	defer s.writing.Unlock()
	s.seq++
	s.write(wire.Message{Heartbeat: &wire.Heartbeat{Seq: s.seq, Metrics: m}})
}

// send is for any goroutine.
func (s *session) send(m wire.Message) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.write(m)
}

// write is called with the lock. A frame that cannot be sent ends the connection, unless
// it is about to end anyway.
func (s *session) write(m wire.Message) {
	if s.bye.Load() && m.Dialed == nil {
		return
	}
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.link.agent.cfg.Timing.Write))
	if err := wire.WriteFrame(s.conn, m); err != nil {
		_ = s.conn.NetConn().Close()
	}
}

// read does what the other end says. Anything that comes shows that it is alive: it
// answers heartbeats. life is that of what it has the agent open.
func (s *session) read(life context.Context) error {
	for {
		_ = s.conn.SetReadDeadline(time.Now().Add(wire.HeartbeatMisses * s.every))
		m, err := wire.ReadMessage(s.conn)
		switch {
		case errors.Is(err, io.EOF):
			return errors.New("the other end closed the connection")
		case err != nil:
			return err
		}
		switch {
		case m.Ack != nil:
		case m.Ping != nil:
			s.beat()
		case m.Dial != nil:
			s.dial(life, m.Dial)
		case m.Bye != nil:
			s.bye.Store(true)
			return errBye
		case m.Refused != nil:
			return &refusal{code: m.Refused.Code, text: m.Refused.Error}
		default:
			return wire.ErrFrame
		}
	}
}

// dial opens what was asked for beside the reading: neither a heartbeat nor another dial
// waits for it. There are never more of them than the link has slots.
func (s *session) dial(life context.Context, d *wire.Dial) {
	l := s.link
	select {
	case l.slots <- struct{}{}:
	default:
		s.send(wire.Message{Dialed: &wire.Dialed{ID: d.ID, Code: wire.DialBusy, Error: "this machine carries as many connections as it may"}})
		return
	}
	release := sync.OnceFunc(func() { <-l.slots })
	s.opening.Add(1)
	l.wg.Go(func() {
		defer s.opening.Done()
		if refused := l.dial(life, d, release); refused != nil {
			s.send(wire.Message{Dialed: refused})
			release()
		}
	})
}
