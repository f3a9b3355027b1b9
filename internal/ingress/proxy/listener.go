package proxy

import (
	"net"
	"sync"
	"time"
)

// boundedListener takes at most cap(slots) connections at once; more wait in
// the kernel.
type boundedListener struct {
	net.Listener
	slots chan struct{}
	stall time.Duration
	now   func() time.Time

	once   sync.Once
	closed chan struct{}
}

func newBoundedListener(l net.Listener, slots chan struct{}, cfg *Config) *boundedListener {
	return &boundedListener{Listener: l, slots: slots, stall: cfg.ClientStall, now: cfg.Now, closed: make(chan struct{})}
}

func (l *boundedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &clientConn{Conn: c, l: l}, nil
}

func (l *boundedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// clientConn bounds how long a write to the client may wait, whoever writes:
// between half of ClientStall and the whole of it, so that most writes need no
// new deadline.
type clientConn struct {
	net.Conn
	l     *boundedListener
	once  sync.Once
	until time.Time // of the write deadline; one goroutine writes at a time
}

func (c *clientConn) Write(p []byte) (int, error) {
	if now := c.l.now(); c.until.Sub(now) < c.l.stall/2 {
		c.until = now.Add(c.l.stall)
		if err := c.Conn.SetWriteDeadline(c.until); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(p)
}

func (c *clientConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.l.slots })
	return err
}
