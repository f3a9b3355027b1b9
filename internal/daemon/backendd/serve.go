package backendd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/server"
)

// Bounds of connections and requests.
const (
	maxConns       = 512
	maxHeaderBytes = 32 << 10
	headerTimeout  = 10 * time.Second
	readTimeout    = 30 * time.Second
	writeTimeout   = 75 * time.Second // longer than a call of the backend may take
	idleTimeout    = 2 * time.Minute
	stopTimeout    = 40 * time.Second // until requests that are under way are answered
)

func (b *backendd) served() *prompt {
	return &prompt{Hosting: b.hosting, firewall: b.firewall, notes: b.notes, wake: func(lease string) { b.engine.Enqueue(leaseKey(lease)) }}
}

// handler is the protocol.
func (b *backendd) handler() (http.Handler, error) {
	known := make([]string, len(b.set.Requests))
	for i, s := range b.set.Requests {
		known[i] = s.RevealString()
	}
	verifier, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: known, Refused: func(r *http.Request, err error) {
		b.logger.WarnContext(r.Context(), "a request was refused for its signature", "remote", r.RemoteAddr, "method", r.Method, "error", err)
	}})
	if err != nil {
		return nil, err
	}
	return server.New(
		b.served(),
		server.Config{
			Auth: verifier, Metrics: promhttp.HandlerFor(b.registry, promhttp.HandlerOpts{}), Logger: b.logger,
			RequestsTotal: b.metrics.requests, RequestDuration: b.metrics.duration,
		}), nil
}

// listen serves until ctx is done, and then until the requests that are under way are
// answered.
func (b *backendd) listen(ctx context.Context, l net.Listener, srv *http.Server) error {
	srv.ReadTimeout, srv.WriteTimeout, srv.IdleTimeout = readTimeout, writeTimeout, idleTimeout
	srv.MaxHeaderBytes = maxHeaderBytes
	srv.BaseContext = func(net.Listener) context.Context { return context.WithoutCancel(ctx) }
	srv.ErrorLog = slog.NewLogLogger(b.logger.Handler(), slog.LevelDebug)
	ended := make(chan error, 1)
	go func() {
		if srv.TLSConfig != nil {
			ended <- srv.ServeTLS(l, "", "")
			return
		}
		ended <- srv.Serve(l)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := srv.Shutdown(stop)
	if err != nil {
		_ = srv.Close() // what is left is cut
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	return nil
}
