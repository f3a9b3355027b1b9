package proxy

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/h1"
)

// Server serves the proxy on listeners with the bounds of its Config.
type Server struct {
	p    *Proxy
	http *h1.Server
	open chan struct{} // a slot per client connection
}

// discardTimeout is for the rest of a request's body that nobody wants.
const discardTimeout = 5 * time.Second

// NewServer is a server that listens nowhere yet.
func NewServer(p *Proxy) *Server {
	cfg := p.cfg
	return &Server{
		p: p,
		http: h1.New(h1.Config{
			Handler:        p,
			Log:            cfg.Log,
			Now:            cfg.Now,
			MaxHeadBytes:   cfg.MaxHeaderBytes,
			HeadTimeout:    cfg.HeaderTimeout,
			IdleTimeout:    cfg.ClientIdleTimeout,
			DiscardTimeout: min(discardTimeout, cfg.ClientStall),
		}),
		open: make(chan struct{}, cfg.MaxConns),
	}
}

// Serve takes connections from l until the server stops; it closes l.
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(newBoundedListener(l, s.open, &s.p.cfg))
	if errors.Is(err, h1.ErrClosed) {
		return nil
	}
	return err
}

// Stop ends the server: no new connections; streams and tunnels are ended
// politely; other requests may finish until ctx ends, then they are cut. Clients'
// idle connections are closed once linger has passed; a request that comes over
// one before is the last there.
func (s *Server) Stop(ctx context.Context, linger time.Duration) error {
	s.p.endStreams()
	err := s.http.Shutdown(ctx, linger)
	if err != nil {
		s.http.Close()
	}
	return errors.Join(err, s.p.drain(ctx))
}
