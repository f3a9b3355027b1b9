package nodes

import (
	"net"
	"sync"
	"time"
)

// What finds out that the other end of a connection is gone: a machine that was switched
// off says nothing.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}

// unheard is how long what was sent may stay without an acknowledgement.
const unheard = 10 * time.Second

// listener is a socket at which agents are taken. Once it was told to leave it takes none,
// and lives on until the last of its connections has ended: the hub closes what came by a
// listener when that ends.
type listener struct {
	*net.TCPListener

	mu      sync.Mutex
	spelt   string // the address that was asked for
	open    int
	left    bool
	over    bool
	overing chan struct{} // closed with over
}

func newListener(l *net.TCPListener, asked string) *listener {
	return &listener{TCPListener: l, spelt: asked, overing: make(chan struct{})}
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	if err != nil {
		l.mu.Lock()
		left := l.left
		l.mu.Unlock()
		if left {
			<-l.overing
		}
		return nil, err
	}
	_ = c.SetKeepAliveConfig(keepAlive)
	boundUnheard(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	l.open++
	return &tracked{TCPConn: c, l: l}, nil
}

// leave has it take no more connections. Others may have the same socket.
func (l *listener) leave() {
	l.mu.Lock()
	l.left = true
	l.endLocked()
	l.mu.Unlock()
	_ = l.TCPListener.Close()
}

// Close ends it, whatever still stands.
func (l *listener) Close() error {
	l.mu.Lock()
	l.left, l.open = true, 0
	l.endLocked()
	l.mu.Unlock()
	return l.TCPListener.Close()
}

func (l *listener) gone() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.endLocked()
}

func (l *listener) endLocked() {
	if l.left && l.open <= 0 && !l.over {
		l.over = true
		close(l.overing)
	}
}

// is says whether it is what listening at address would give.
func (l *listener) is(address string) bool {
	return l.asked() == address || l.Addr().String() == address
}

// name notes another spelling of its address.
func (l *listener) name(asked string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spelt = asked
}

func (l *listener) asked() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spelt
}

// tracked is one of its connections.
type tracked struct {
	*net.TCPConn
	l    *listener
	once sync.Once
}

func (c *tracked) Close() error {
	err := c.TCPConn.Close()
	c.once.Do(c.l.gone)
	return err
}
