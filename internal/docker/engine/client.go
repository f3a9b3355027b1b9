package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

const (
	// DefaultHost is where a local engine listens.
	DefaultHost = "unix:///var/run/docker.sock"
	// DefaultCallTimeout bounds a call that should answer at once.
	DefaultCallTimeout = time.Minute
)

// Options say how to reach an engine.
type Options struct {
	// Host is "unix:///path", "/path" or "tcp://host:port" without TLS;
	// DefaultHost when empty. With Dial set it only names the engine in errors.
	Host string
	// Dial opens a connection to the engine; nil dials Host. A connection
	// without a CloseWrite method cannot carry the input of a command.
	Dial func(ctx context.Context) (net.Conn, error)
	// Logger receives the engine's warnings; nil discards them.
	Logger *slog.Logger
	// CallTimeout bounds every call but Pull, Logs, Exec and Events, which last
	// as long as their context allows. A Stop gets its grace on top. 0 means
	// DefaultCallTimeout.
	CallTimeout time.Duration
}

// Client is one Docker engine.
type Client struct {
	cli         *client.Client
	transport   *http.Transport
	dial        dialFunc
	host        string
	log         *slog.Logger
	callTimeout time.Duration
	negotiated  atomic.Bool
}

var (
	_ docker.Runtime            = (*Client)(nil)
	_ docker.ExitStateInspector = (*Client)(nil)
)

// New prepares a client. It dials nothing: an engine that is down shows at the
// first call, as docker.ErrUnavailable. Close the client when done.
func New(opts Options) (*Client, error) {
	host, dial, err := resolveHost(opts.Host, opts.Dial)
	if err != nil {
		return nil, err
	}
	transport := newTransport(dial)
	cli, err := client.New(
		client.WithHost(host),
		client.WithHTTPClient(&http.Client{
			Transport:     &amendingTransport{base: transport},
			CheckRedirect: client.CheckRedirect,
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("docker engine at %s: %w", host, err)
	}
	c := &Client{cli: cli, transport: transport, dial: dial, host: host, log: opts.Logger, callTimeout: opts.CallTimeout}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.callTimeout <= 0 {
		c.callTimeout = DefaultCallTimeout
	}
	return c, nil
}

// Close gives up idle connections. Calls that are under way finish.
func (c *Client) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}

// Host names the engine as the client dials it.
func (c *Client) Host() string { return c.host }

// bound gives a call its deadline, on top of the caller's.
func (c *Client) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.callTimeout)
}

// negotiate settles the API version before the first request. The library
// does it too, but swallows the failure and then sends its newest version,
// which an older engine refuses with an error that hides the cause.
func (c *Client) negotiate(ctx context.Context) error {
	if c.negotiated.Load() {
		return nil
	}
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if _, err := c.cli.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return err
	}
	c.negotiated.Store(true)
	return nil
}

// errNotOpened is why a stream that did not begin in time is given up.
var errNotOpened = errors.New("no answer in time")

// opening bounds the wait for a stream to begin, but not the stream: opened
// lifts the bound.
func (c *Client) opening(ctx context.Context) (_ context.Context, opened func() bool, cancel func()) {
	ctx, cancelCause := context.WithCancelCause(ctx)
	timer := time.AfterFunc(c.callTimeout, func() { cancelCause(errNotOpened) })
	return ctx, timer.Stop, func() {
		timer.Stop()
		cancelCause(nil)
	}
}
