package proxy

import (
	"context"
	"errors"
	"net"
	"time"
)

// errRemoved says that the target left the table, or was ended, meanwhile.
var errRemoved = errors.New("the target has left the route table")

// errDial wraps every failure to open a connection: not a byte was sent.
var errDial = errors.New("cannot connect to the target")

// conn is a connection for one exchange: a pooled one that was in use within
// maxIdle and is not closed by the other side, else a fresh one, dialled within
// limit. The caller has acquired t.
func (t *target) conn(ctx context.Context, maxIdle, limit time.Duration) (*upConn, error) {
	if c := t.popIdle(maxIdle); c != nil {
		return c, nil
	}
	select {
	case t.dials <- struct{}{}:
	default:
		select {
		case t.dials <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// Others finished while this one waited.
		if c := t.popIdle(maxIdle); c != nil {
			<-t.dials
			return c, nil
		}
	}
	defer func() { <-t.dials }()
	return t.dial(ctx, limit)
}

func (t *target) dial(ctx context.Context, limit time.Duration) (*upConn, error) {
	dctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	nc, err := t.open(dctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		t.badTill.Store(t.p.cfg.Now().Add(t.p.cfg.FailedDialRest).UnixNano())
		return nil, errors.Join(errDial, err)
	}
	t.badTill.Store(0)
	return newUpConn(nc), nil
}

func (t *target) open(ctx context.Context) (net.Conn, error) {
	if t.node == "" {
		return t.p.cfg.Dial(ctx, t.addr)
	}
	return t.p.cfg.DialNode(ctx, t.node, t.addr)
}

// patience is how long a dial may take while another target could be tried.
func (t *target) patience() time.Duration {
	if t.node == "" {
		return t.p.cfg.DialPatience
	}
	return t.p.cfg.NodePatience
}

// popIdle takes the connection that was used last, if it is young enough and
// alive.
func (t *target) popIdle(maxIdle time.Duration) *upConn {
	if maxIdle <= 0 {
		return nil
	}
	for {
		t.mu.Lock()
		n := len(t.idle)
		if n == 0 {
			t.mu.Unlock()
			return nil
		}
		c := t.idle[n-1]
		age := t.p.cfg.Now().Sub(c.idleSince)
		if age > min(maxIdle, c.idleLimit) {
			t.mu.Unlock()
			return nil
		}
		t.idle[n-1] = nil
		t.idle = t.idle[:n-1]
		t.mu.Unlock()
		if c.alive() {
			c.reused = true
			return c
		}
		c.close()
	}
}

// pushIdle keeps a connection for the next exchange, or closes it.
func (t *target) pushIdle(c *upConn) {
	c.idleSince = t.p.cfg.Now()
	if limit := t.p.cfg.UpstreamIdle; c.idleLimit == 0 || c.idleLimit > limit {
		c.idleLimit = limit
	}
	c.park()
	t.mu.Lock()
	keep := !t.removed() && len(t.idle) < t.p.cfg.MaxIdlePerTarget && c.idleLimit > 0
	if keep {
		t.idle = append(t.idle, c)
	}
	t.mu.Unlock()
	if !keep {
		c.close()
		return
	}
	t.p.sweeper.wake()
}

// expireIdle closes connections that are too old to be taken; it reports
// whether any are left.
func (t *target) expireIdle(now time.Time) (left bool) {
	var old []*upConn
	t.mu.Lock()
	kept := t.idle[:0]
	for _, c := range t.idle {
		if now.Sub(c.idleSince) > c.idleLimit {
			old = append(old, c)
		} else {
			kept = append(kept, c)
		}
	}
	clear(t.idle[len(kept):])
	t.idle = kept
	left = len(kept) > 0
	t.mu.Unlock()
	for _, c := range old {
		c.close()
	}
	return left
}

func (t *target) closeIdle() {
	t.mu.Lock()
	idle := t.idle
	t.idle = nil
	t.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
}
