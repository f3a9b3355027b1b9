package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Config is all that can be set. A zero field takes the default that
// [Config.withDefaults] names; tests scale times down.
type Config struct {
	Log *slog.Logger // required
	Now func() time.Time
	// Dial opens a TCP connection to a target.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// DialNode opens a connection to a target through the node that it is on. A node
	// that is away is an error at once. Nil reaches no node.
	DialNode func(ctx context.Context, node, address string) (net.Conn, error)
	// TrustedProxies are the clients whose X-Forwarded-* and X-Request-Id are
	// believed. None by default.
	TrustedProxies []netip.Prefix
	// ACME answers /.well-known/acme-challenge/ before any route is looked at.
	// Nil answers 404.
	ACME http.Handler

	// Bounds on clients.
	MaxHeaderBytes    int           // of a request's head
	MaxHeaderCount    int           // header lines of a request
	HeaderTimeout     time.Duration // from the first byte of a request to the end of its head
	ClientIdleTimeout time.Duration // keep-alive without a request
	ClientStall       time.Duration // a client that neither sends its body nor takes the response
	MaxConns          int           // open client connections; more wait in the kernel's backlog
	MaxBodyBytes      int64         // where the route says nothing
	MaxHeld           int           // requests held at once, all services
	MaxHeldPerService int

	// Bounds on upstreams.
	DialTimeout time.Duration
	// DialPatience is how long a dial may take while another target could be
	// tried. An address whose container has just died answers nothing at all: the
	// kernel looks for it, and repeats itself after a second.
	DialPatience time.Duration
	// NodePatience is the same for a dial through a node, which takes some round trips
	// to its agent.
	NodePatience    time.Duration
	ResponseTimeout time.Duration // from the request to the head of its response
	MaxUpstreamHead int64         // bytes of a response's head
	// UpstreamIdle is how long a connection to a target is kept unused. Servers
	// close idle connections themselves, and a request that crosses such a
	// close is lost; 1.5 s is below the shortest default in common use
	// (gunicorn 2 s; Node, uvicorn and Apache 5 s).
	UpstreamIdle time.Duration
	// UnsafeIdle is the same for a request that cannot be sent twice: it takes
	// a pooled connection only if that was in use within this time.
	UnsafeIdle       time.Duration
	MaxIdlePerTarget int
	MaxDials         int           // dials to one target at once
	RedialEvery      time.Duration // while all dials of a route fail
	FailedDialRest   time.Duration // a target whose dial failed is the last choice for this long
	// SlowAfter is when a request without an answer gets its deadline and the
	// watch on its client; quicker ones do without the cost.
	SlowAfter time.Duration
	// EndGrace bounds the polite end of a stream: the rest of a frame or event
	// and the client's own close.
	EndGrace time.Duration
}

func (c Config) withDefaults() Config {
	def(&c.MaxHeaderBytes, 64<<10)
	def(&c.MaxHeaderCount, 256)
	def(&c.HeaderTimeout, 10*time.Second)
	def(&c.ClientIdleTimeout, 75*time.Second)
	def(&c.ClientStall, 60*time.Second)
	def(&c.MaxConns, 16_384)
	def(&c.MaxBodyBytes, 1<<30)
	def(&c.MaxHeld, 8_192)
	def(&c.MaxHeldPerService, 4_096)
	def(&c.DialTimeout, 2*time.Second)
	def(&c.DialPatience, 250*time.Millisecond)
	def(&c.NodePatience, time.Second)
	def(&c.ResponseTimeout, 5*time.Minute)
	def(&c.MaxUpstreamHead, 256<<10)
	def(&c.UpstreamIdle, 1500*time.Millisecond)
	def(&c.UnsafeIdle, 250*time.Millisecond)
	def(&c.MaxIdlePerTarget, 256)
	def(&c.MaxDials, 64)
	def(&c.RedialEvery, 50*time.Millisecond)
	def(&c.FailedDialRest, 250*time.Millisecond)
	def(&c.SlowAfter, 100*time.Millisecond)
	def(&c.EndGrace, 2*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Dial == nil {
		d := &net.Dialer{KeepAlive: 30 * time.Second}
		c.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return d.DialContext(ctx, "tcp", address)
		}
	}
	if c.DialNode == nil {
		c.DialNode = func(context.Context, string, string) (net.Conn, error) { return nil, errNoNodes }
	}
	return c
}

// errNoNodes says that a target is on another node, and none can be reached.
var errNoNodes = errors.New("this data plane reaches no nodes")

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
