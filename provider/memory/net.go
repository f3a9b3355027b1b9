package memory

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// listener is a port of a container that somebody listens on.
type listener struct {
	cluster *Cluster
	at      netip.AddrPort
	conns   chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

var _ net.Listener = (*listener)(nil)

// backlog is how many connections wait to be accepted.
const backlog = 64

// listen opens a port of an address.
func (c *Cluster) listen(at netip.AddrPort) (*listener, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listeners[at] != nil {
		return nil, fmt.Errorf("listen on %s: the port is in use", at)
	}
	l := &listener{cluster: c, at: at, conns: make(chan net.Conn, backlog), closed: make(chan struct{})}
	c.listeners[at] = l
	return l, nil
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.cluster.mu.Lock()
	if l.cluster.listeners[l.at] == l {
		delete(l.cluster.listeners, l.at)
	}
	l.cluster.mu.Unlock()
	l.shut()
	return nil
}

// shut ends Accept and the connections that nobody accepted.
func (l *listener) shut() {
	l.once.Do(func() {
		close(l.closed)
		for {
			select {
			case conn := <-l.conns:
				_ = conn.Close()
			default:
				return
			}
		}
	})
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.at) }

// Dial connects to "address:port" of a container, or of the host where a port is
// published.
func (c *Cluster) Dial(ctx context.Context, address string) (net.Conn, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: err}
	}
	c.mu.Lock()
	if inside, published := c.published[at]; published {
		at = inside
	}
	c.mu.Unlock()
	return c.connect(ctx, at)
}

func (c *Cluster) connect(ctx context.Context, at netip.AddrPort) (net.Conn, error) {
	c.mu.Lock()
	l := c.listeners[at]
	c.mu.Unlock()
	if l == nil {
		return nil, errRefused(at.String())
	}
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		select {
		case <-l.closed: // perhaps after the connections were ended
			_ = there.Close()
		default:
		}
		return here, nil
	case <-l.closed:
	case <-ctx.Done():
		err := ctx.Err()
		_, _ = here.Close(), there.Close()
		return nil, err
	}
	_, _ = here.Close(), there.Close()
	return nil, errRefused(at.String())
}

// dialFrom connects from within a container: to a member of its group, to a
// workload of its network, or to an address there.
func (c *Cluster) dialFrom(ctx context.Context, o *container, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return nil, err
	}
	to, err := c.resolve(o, host)
	if err != nil {
		return nil, err
	}
	return c.connect(ctx, netip.AddrPortFrom(to, uint16(number)))
}

// resolve is the address of a host as a container sees it.
func (c *Cluster) resolve(o *container, host string) (netip.Addr, error) {
	if host == "localhost" {
		return o.address, nil
	}
	if at, err := netip.ParseAddr(host); err == nil {
		if at.IsLoopback() {
			return o.address, nil
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, other := range c.containers {
			if other.address == at && other.network == o.network {
				return at, nil
			}
		}
		return at, fmt.Errorf("no route to %s", at)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var found *container
	for _, other := range c.containers {
		if other.instance == o.instance && other.group == o.group && other.service == host {
			return other.address, nil
		}
		if other.network == o.network && other.workload == host && other.main && other.state == running && other.betterThan(found) {
			found = other
		}
	}
	if found == nil {
		return netip.Addr{}, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return found.address, nil
}

// betterThan prefers a container that is ready and, of these, the newer one.
func (o *container) betterThan(other *container) bool {
	return other == nil || o.health.ready || !other.health.ready
}
