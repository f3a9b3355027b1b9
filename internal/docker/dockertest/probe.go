package dockertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"syscall"

	"github.com/berth-cloud/berth/internal/docker"
)

// What a prober can meet. Each wraps what the net package would report.
var (
	// ErrRefused: the host is there and nothing listens on the port.
	ErrRefused = fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	// ErrUnreachable: no running container has the address.
	ErrUnreachable = fmt.Errorf("dial: %w", syscall.EHOSTUNREACH)
	// ErrNoAnswer: connected, and no response until the deadline.
	ErrNoAnswer = fmt.Errorf("await response: %w", context.DeadlineExceeded)
	// ErrClosed: connected, and closed without a response. A published port
	// does this while nothing listens behind it.
	ErrClosed = fmt.Errorf("read response: %w", io.EOF)
)

// TCP dials an address as a client on the host would, and hangs up. A published
// port accepts as soon as its container runs, whether anything listens or not.
func (e *Engine) TCP(ctx context.Context, addr netip.AddrPort) error {
	e.clock.lock()
	defer e.clock.unlock()
	_, err := e.dial(ctx, addr)
	if errors.Is(err, ErrClosed) {
		err = nil
	}
	return err
}

// HTTP asks for a path as a client on the host would and returns the status.
// A response that never comes is ErrNoAnswer at once, also on a wall clock.
func (e *Engine) HTTP(ctx context.Context, addr netip.AddrPort, path string) (status int, err error) {
	e.clock.lock()
	defer e.clock.unlock()
	c, err := e.dial(ctx, addr)
	if err != nil {
		return 0, err
	}
	status = c.process.status(path, e.now().Sub(c.started))
	if status == 0 {
		return 0, ErrNoAnswer
	}
	return status, nil
}

// dial returns the container that serves an address.
func (e *Engine) dial(ctx context.Context, addr netip.AddrPort) (*container, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c := e.byAddr[addr.Addr()]; c != nil {
		if !e.listens(c, int(addr.Port())) {
			return nil, ErrRefused
		}
		return c, nil
	}
	h, ok := e.ports.holder(addr)
	switch {
	case !ok && addr.Addr().IsLoopback(), ok && e.down, ok && h.owner == nil:
		return nil, ErrRefused
	case !ok:
		return nil, ErrUnreachable
	case !e.listens(h.owner, h.containerPort):
		return nil, ErrClosed
	}
	return h.owner, nil
}

func (e *Engine) listens(c *container, port int) bool {
	p := c.process
	return c.status == docker.StatusRunning && p.Port == port && port != 0 && e.now().Sub(c.started) >= p.StartDelay
}
