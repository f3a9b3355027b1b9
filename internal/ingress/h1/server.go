package h1

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is what Serve answers after Shutdown or Close.
var ErrClosed = errors.New("server closed")

// Config bounds a server. All times and sizes must be set.
type Config struct {
	Handler        http.Handler
	Log            *slog.Logger
	Now            func() time.Time
	MaxHeadBytes   int           // of a request's head
	HeadTimeout    time.Duration // from a connection's start, and from a head's first bytes to its end
	IdleTimeout    time.Duration // between requests; in effect between half of it and the whole
	DiscardTimeout time.Duration // for the rest of a body that the handler left
}

// Server serves connections. It may serve several listeners.
type Server struct {
	cfg     Config
	closing atomic.Bool
	stop    chan struct{} // closed with closing
	date    atomic.Pointer[dateLine]

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	killed    bool // Close was called
}

// New is a server that listens nowhere yet.
func New(cfg Config) *Server {
	return &Server{cfg: cfg, stop: make(chan struct{}), listeners: map[net.Listener]struct{}{}, conns: map[*conn]struct{}{}}
}

// maxAcceptPause bounds the pause after a failed accept, out of descriptors say.
const maxAcceptPause = time.Second

// Serve takes connections from l until the server closes; it closes l. It
// returns ErrClosed then, else what ended the listener.
func (s *Server) Serve(l net.Listener) error {
	if !s.track(l) {
		_ = l.Close()
		return ErrClosed
	}
	defer s.untrack(l)
	pause := time.Duration(0)
	for {
		nc, err := l.Accept()
		if err != nil {
			if s.closing.Load() {
				return ErrClosed
			}
			var ne net.Error
			if !errors.As(err, &ne) || errors.Is(err, net.ErrClosed) {
				return err
			}
			pause = min(max(2*pause, 5*time.Millisecond), maxAcceptPause)
			s.cfg.Log.Error("accept failed; trying again", "pause", pause, "error", err)
			if !s.pause(pause) {
				return ErrClosed
			}
			continue
		}
		pause = 0
		// One that was taken is served, even if the server closes just now: its
		// client may have sent a request already.
		c := newConn(s, nc)
		s.add(c)
		go c.serve()
	}
}

// pause waits; false when the server closes meanwhile.
func (s *Server) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.stop:
		return false
	}
}

func (s *Server) track(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

func (s *Server) untrack(l net.Listener) {
	_ = l.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

func (s *Server) add(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
	if s.killed {
		_ = c.nc.Close()
	}
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// shutdownPoll is how often Shutdown looks whether all connections are done.
const shutdownPoll = 5 * time.Millisecond

// Shutdown ends the server in order: the listeners close, responses from now on
// end their connection, and connections that wait for a request are closed once
// linger has passed. It returns when no connection is left, or with ctx's error,
// leaving the rest to Close. Hijacked connections are not the server's.
func (s *Server) Shutdown(ctx context.Context, linger time.Duration) error {
	s.close()
	idle := time.NewTimer(linger)
	defer idle.Stop()
	tick := time.NewTicker(shutdownPoll)
	defer tick.Stop()
	closeIdle := false
	for {
		if closeIdle = closeIdle || linger <= 0; closeIdle {
			s.closeIdle()
		}
		if s.open() == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-idle.C:
			closeIdle = true
		case <-tick.C:
		}
	}
}

// Close closes the listeners and all connections at once.
func (s *Server) Close() {
	s.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = true
	for c := range s.conns {
		_ = c.nc.Close()
	}
}

func (s *Server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing.Swap(true) {
		close(s.stop)
	}
	for l := range s.listeners {
		_ = l.Close()
	}
}

func (s *Server) closeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.state.CompareAndSwap(stateIdle, stateClosed) {
			_ = c.nc.Close()
		}
	}
}

// open counts connections, and listeners that may just be taking one.
func (s *Server) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns) + len(s.listeners)
}
