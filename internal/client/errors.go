package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/internal/wire"
)

// ErrUnreachable: nothing answers on the daemon's socket.
var ErrUnreachable = errors.New("the daemon does not answer")

// ErrStranger: what listens on the socket is nothing that Berth is.
var ErrStranger = errors.New("something else listens there")

// unreachable wraps a failure to talk to the daemon; the end of the caller's
// own context stays what it is.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w on %s: %w", ErrUnreachable, c.socket, err)
}

// IsProblem reports whether the server refused a request for that reason.
func IsProblem(err error, kind wire.ProblemType) bool {
	var p *wire.Problem
	return errors.As(err, &p) && p.Type == kind
}
