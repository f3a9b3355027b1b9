package nodes

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
)

// Dial opens a connection to an address on a node. A node that is away is an error at
// once, but while nodes come back to a process that has just begun it is waited for, as
// long as ctx lets it. Errors: those of hub.Hub.Dial.
func (n *Nodes) Dial(ctx context.Context, node, address string) (net.Conn, error) {
	for {
		n.mu.Lock()
		heir, changed, arriving := n.heir, n.changed, n.arriving
		n.mu.Unlock()
		if heir != nil {
			return heir.dial(ctx, node, address)
		}
		c, err := n.hub.Dial(ctx, node, wire.KindAddress, address)
		if err == nil {
			return &conn{c.(*hub.Conn)}, nil //nolint:forcetypeassert // it says so
		}
		if !errors.Is(err, hub.ErrOffline) {
			return nil, err
		}
		select {
		case <-changed:
			continue
		default:
		}
		select {
		case <-arriving:
			return nil, err
		default:
		}
		select {
		case <-changed:
		case <-arriving:
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

// Expect begins the time in which nodes come back, or says how many they are; 0 is not
// known. It is over when they are there, or after Options.Arrival.
func (n *Nodes) Expect(nodes int) {
	n.mu.Lock()
	n.expected = nodes
	select {
	case <-n.arriving:
	default:
		n.mu.Unlock()
		return
	}
	arriving := make(chan struct{})
	n.arriving = arriving
	n.mu.Unlock()
	n.wg.Go(func() {
		limit := time.NewTimer(n.opts.Arrival)
		defer limit.Stop()
		select {
		case <-limit.C:
			n.arrived()
		case <-arriving:
		case <-n.life.Done():
		}
	})
}

func (n *Nodes) arrived() {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.arriving:
	default:
		close(n.arriving)
	}
}

// follow passes on that nodes come and go.
func (n *Nodes) follow() {
	for {
		select {
		case e := <-n.sub.Events():
			if e.Kind == hub.EventHeartbeat || e.Kind == hub.EventNotice {
				continue
			}
		case <-n.life.Done():
			return
		}
		n.wake()
		n.opts.Touch()
	}
}

// wake has everybody who waits look again.
func (n *Nodes) wake() {
	here := len(n.hub.Nodes())
	n.mu.Lock()
	close(n.changed)
	n.changed = make(chan struct{})
	all := n.expected > 0 && here >= n.expected
	n.mu.Unlock()
	if all {
		n.arrived()
	}
}

// closeLimit bounds how long Close may take to say goodbye to a machine that does not
// listen.
const closeLimit = 200 * time.Millisecond

// conn is a connection through a node.
type conn struct{ *hub.Conn }

// Close never waits for long: the proxy ends connections under locks.
func (c *conn) Close() error {
	cut := time.AfterFunc(closeLimit, func() { _ = c.NetConn().Close() })
	defer cut.Stop()
	return c.Conn.Close()
}
