package backendd

import (
	"context"
	"net"
	"net/http"

	"golang.org/x/net/netutil"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/daemon"
)

// listeners are where requests come in. Nobody is answered before the parts run.
type listeners struct{ port, operator net.Listener }

func (b *backendd) open(ctx context.Context) (*listeners, error) {
	port, err := daemon.ListenTCP(ctx, "listen", b.set.Listen)
	if err != nil {
		return nil, err
	}
	// The data directory is held by then, so that a socket in it that nobody serves was
	// left behind.
	operator, err := daemon.ListenUnix(ctx, b.opts.Socket)
	if err != nil {
		_ = port.Close()
		return nil, err
	}
	return &listeners{port, operator}, nil
}

// close is for those that no part took; the others are closed already.
func (l *listeners) close() {
	_ = l.port.Close()
	_ = l.operator.Close()
}

// serve runs every part until ctx is done or one fails, then ends the others.
func (b *backendd) serve(ctx context.Context, l *listeners) error {
	handler, err := b.handler()
	if err != nil {
		return err
	}
	operator, err := b.operator()
	if err != nil {
		return err
	}
	return daemon.Together(ctx, func(part daemon.Part) {
		part("server", func(ctx context.Context) error {
			return b.listen(ctx, netutil.LimitListener(l.port, maxConns), &http.Server{
				Handler: handler, TLSConfig: b.set.TLS(), ReadHeaderTimeout: headerTimeout,
			})
		})
		// Not limited: a connection that was wrapped does not tell who is at its other end,
		// and only the operator can connect.
		part("operator", func(ctx context.Context) error {
			return b.listen(ctx, l.operator, &http.Server{
				Handler: operator, ConnContext: api.ConnContext, ReadHeaderTimeout: headerTimeout,
			})
		})
		part("engine", b.engine.Run)
		part("callbacks", b.outbox.Run)
		if b.firewall != nil {
			part("firewall", b.firewall.watch)
		}
		if b.routes != nil {
			part("routes", func(ctx context.Context) error { return b.routes.Run(ctx, b.hosting.Routes) })
			part("data plane", func(ctx context.Context) error { b.planeAt.Expect(ctx, answerTime, errMute); return nil })
		}
		part("docker engine", func(ctx context.Context) error { b.engineAt.Expect(ctx, answerTime, errMute); return nil })
		part("events", func(ctx context.Context) error {
			b.engine.Watch(ctx, "leases", b.watch, nil)
			return nil
		})
		b.logger.InfoContext(ctx, "the backend serves", "name", b.set.Name, "address", l.port.Addr().String(), "tls", b.set.TLS() != nil,
			"data", b.opts.DataDir, "socket", b.opts.Socket, "instance", b.instance, "version", b.opts.Version)
		if b.opts.Serving != nil {
			b.opts.Serving(l.port.Addr())
		}
	})
}
