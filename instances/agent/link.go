package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

// link is the agent's relation to one end: it keeps a control connection there, for ever.
type link struct {
	agent *Agent
	role  wire.Role // of the other end, and so its rights
	addr  string
	slots chan struct{} // one for each connection that is carried
	wg    sync.WaitGroup

	mu      sync.Mutex
	current *session
	last    *wire.Notice
}

func (a *Agent) newLink(role wire.Role, addr string) *link {
	return &link{agent: a, role: role, addr: addr, slots: make(chan struct{}, a.cfg.Limits.Dials)}
}

// run ends when ctx is done and everything the link carries has ended.
func (l *link) run(ctx context.Context) {
	defer l.wg.Wait()
	a := l.agent
	log := a.cfg.Log.With("end", string(l.role), "address", l.addr)
	b := a.newBackoff()
	said, resume := a.newComplaints(), ""
	var moved time.Time // when it last connected anew because it was asked to
	for ctx.Err() == nil {
		cert, changed := a.id.now()
		if cert == nil {
			sleep(ctx, longest, changed)
			continue
		}
		began := time.Now()
		s, err := l.open(ctx, resume)
		if err == nil {
			log.Info("connected")
			resume = s.resume
			b.bound(s.every)
			said.over()
			l.wg.Go(func() { s.run(ctx) })
			select {
			case <-changed:
				// The old connection goes on until the new one has taken over.
				continue
			case <-s.ended:
				err = s.err
			case <-ctx.Done():
			}
			bye := errors.Is(err, errBye)
			b.ended(bye || time.Since(began) >= a.cfg.Timing.Stable)
			if bye && time.Since(moved) >= a.cfg.Timing.RetryMin {
				// Whoever has the address now waits for it.
				moved = time.Now()
				continue
			}
		}
		if ctx.Err() != nil {
			return
		}
		a.doubt(err)
		said.say(log.With("what", "no connection"), err)
		// Another certificate may be all that is missing.
		sleep(ctx, b.pause(final(err)), changed)
	}
}

// open makes a control connection, up to its welcome.
func (l *link) open(ctx context.Context, resume string) (*session, error) {
	a := l.agent
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Connect)
	defer cancel()
	conn, err := a.connect(ctx, l.addr, a.id.peer(l.role, a.cfg.Now), wire.ProtocolControl)
	if err != nil {
		return nil, err
	}
	s := &session{link: l, conn: conn, ended: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { _ = conn.NetConn().Close() })
	err = s.greet(resume)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return s, nil
}

// dialBack opens the connection that answers a dial.
func (l *link) dialBack(ctx context.Context, id string) (*tls.Conn, error) {
	a := l.agent
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Connect)
	defer cancel()
	conn, err := a.connect(ctx, l.addr, a.id.peer(l.role, a.cfg.Now), wire.ProtocolDial)
	if err != nil {
		return nil, err
	}
	_ = conn.SetWriteDeadline(time.Now().Add(a.cfg.Timing.Write))
	if err := wire.WriteFrame(conn, wire.Opened{ID: id}); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("answer a dial: %w", err)
	}
	_ = conn.SetWriteDeadline(time.Time{})
	return conn, nil
}

// dial does what the other end asked for, or says why not. What it opens outlives the
// control connection by which it was asked, as the other end may; release is called when
// it has ended.
func (l *link) dial(life context.Context, d *wire.Dial, release func()) *wire.Dialed {
	if d.Kind == wire.KindHost {
		return l.dialHost(life, d, release)
	}
	target, refused := l.target(life, d)
	if refused != nil {
		return refused
	}
	back, err := l.dialBack(life, d.ID)
	if err != nil {
		cut(target)
		return unreachable(d, err)
	}
	l.wg.Go(func() {
		defer release()
		relay(life, back, target)
	})
	return nil
}

func (l *link) dialHost(life context.Context, d *wire.Dial, release func()) *wire.Dialed {
	if l.role != wire.RoleServer || l.agent.host == nil {
		return &wire.Dialed{ID: d.ID, Code: wire.DialRefused, Error: "the host is not served to this end"}
	}
	back, err := l.dialBack(life, d.ID)
	if err != nil {
		return unreachable(d, err)
	}
	l.agent.host.take(back, release)
	return nil
}

func unreachable(d *wire.Dial, err error) *wire.Dialed {
	return &wire.Dialed{ID: d.ID, Code: wire.DialUnreachable, Error: wire.Clip(err.Error())}
}

// notice is sent by the connection that stands, and by every one that follows.
func (l *link) notice(n wire.Notice) {
	l.mu.Lock()
	l.last = &n
	s := l.current
	l.mu.Unlock()
	if s != nil {
		s.send(wire.Message{Notice: &n})
	}
}
