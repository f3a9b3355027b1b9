package agent

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// hostServer serves HTTP on connections that the agent opened itself.
type hostServer struct {
	server *http.Server
	conns  chan net.Conn
	done   chan struct{}
	once   sync.Once
}

func newHostServer(h http.Handler) *hostServer {
	return &hostServer{
		server: &http.Server{
			Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		},
		conns: make(chan net.Conn), done: make(chan struct{}),
	}
}

func (s *hostServer) serve() { _ = s.server.Serve(s) }

func (s *hostServer) close() {
	s.once.Do(func() { close(s.done) })
	_ = s.server.Close()
}

// take serves a connection; release is called when it is closed.
func (s *hostServer) take(conn *tls.Conn, release func()) {
	c := &served{Conn: conn, release: release}
	select {
	case s.conns <- c:
	case <-s.done:
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (s *hostServer) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (s *hostServer) Close() error {
	s.once.Do(func() { close(s.done) })
	return nil
}

// Addr implements net.Listener.
func (s *hostServer) Addr() net.Addr { return hostAddr{} }

type hostAddr struct{}

func (hostAddr) Network() string { return "berth" }
func (hostAddr) String() string  { return "host" }

// served hides from the HTTP server that it is TLS: its handshake is done.
type served struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *served) Close() error {
	defer c.release()
	return c.Conn.Close()
}
