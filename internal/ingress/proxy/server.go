package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Server serves the proxy on listeners with the bounds of its Config.
type Server struct {
	p    *Proxy
	http *http.Server
	open chan struct{} // a slot per client connection
}

// NewServer is a server that listens nowhere yet.
func NewServer(p *Proxy) *Server {
	cfg := p.cfg
	return &Server{
		p: p,
		http: &http.Server{
			Handler:                      p,
			MaxHeaderBytes:               cfg.MaxHeaderBytes,
			ReadHeaderTimeout:            cfg.HeaderTimeout,
			IdleTimeout:                  cfg.ClientIdleTimeout,
			DisableGeneralOptionsHandler: true,
			ErrorLog:                     slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
		},
		open: make(chan struct{}, cfg.MaxConns),
	}
}

// Serve takes connections from l until the server stops; it closes l.
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(newBoundedListener(l, s.open, &s.p.cfg))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Stop ends the server: no new connections; streams and tunnels are ended
// politely; other requests may finish until ctx ends, then they are cut.
func (s *Server) Stop(ctx context.Context) error {
	s.p.endStreams()
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close()
	}
	return errors.Join(err, s.p.drain(ctx))
}

// stopPoll is how often drain looks; tunnels are not the HTTP server's.
const stopPoll = 10 * time.Millisecond
