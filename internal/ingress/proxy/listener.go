package proxy

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
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
	until atomic.Int64 // UnixNano of the write deadline we set
}

func (c *clientConn) Write(p []byte) (int, error) {
	if now := c.l.now(); c.until.Load()-now.UnixNano() < int64(c.l.stall/2) {
		until := now.Add(c.l.stall)
		c.until.Store(until.UnixNano())
		if err := c.Conn.SetWriteDeadline(until); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(p)
}

// SetDeadline is called when the connection is hijacked; our bound on writes
// starts anew.
func (c *clientConn) SetDeadline(t time.Time) error {
	c.until.Store(0)
	return c.Conn.SetDeadline(t)
}

// SyscallConn lets the server watch an idle connection.
func (c *clientConn) SyscallConn() (syscall.RawConn, error) {
	if sc, ok := c.Conn.(syscall.Conn); ok {
		return sc.SyscallConn()
	}
	return nil, syscall.EINVAL
}

// CloseWrite ends our direction only.
func (c *clientConn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return c.Close()
}

func (c *clientConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.l.slots })
	return err
}
