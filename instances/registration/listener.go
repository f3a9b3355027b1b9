package registration

import (
	"net"
	"net/netip"
	"sync"
)

// Defaults of Bound.
const (
	DefaultConns           = 512
	DefaultConnsPerAddress = 64
)

// Bound limits the connections of a listener that are open at once, all of them and those
// from one address; 0 are the defaults. One above that is closed without a word: TLS
// begins before anything else can be refused, and whoever opens connections and says
// nothing on them would have every file descriptor of the process. An agent that meets a
// limit comes again.
func Bound(l net.Listener, conns, perAddress int) net.Listener {
	if conns <= 0 {
		conns = DefaultConns
	}
	if perAddress <= 0 {
		perAddress = DefaultConnsPerAddress
	}
	return &bounded{Listener: l, conns: conns, perAddress: perAddress, open: map[netip.Prefix]int{}}
}

type bounded struct {
	net.Listener
	conns, perAddress int

	mu   sync.Mutex
	all  int
	open map[netip.Prefix]int
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if release := b.take(c.RemoteAddr().String()); release != nil {
			return &boundConn{Conn: c, release: release}, nil
		}
		_ = c.Close()
	}
}

// take counts a connection; nil is one too many.
func (b *bounded) take(remote string) (release func()) {
	from := origin(remote)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all >= b.conns || b.open[from] >= b.perAddress {
		return nil
	}
	b.all++
	b.open[from]++
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.all--
		if b.open[from]--; b.open[from] == 0 {
			delete(b.open, from)
		}
	})
}

type boundConn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *boundConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
