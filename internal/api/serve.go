package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	headerTimeout = 5 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
	// shutdownGrace is how long requests under way may take after the end was
	// asked for.
	shutdownGrace = 5 * time.Second
)

// Serve answers on the listener until ctx is done, then ends streams, lets
// requests under way finish within five seconds, and returns nil. It closes
// the listener.
func Serve(ctx context.Context, l net.Listener, s *Server) error {
	server := &http.Server{
		Handler:           s,
		ConnContext:       ConnContext,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
	}
	hubCtx, stopHub := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(hubCtx) })
	defer wg.Wait()
	defer stopHub()

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve the API on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := server.Shutdown(closing); err != nil {
		_ = server.Close()
	}
	s.awaitExecs(closing)
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the API on %s: %w", l.Addr(), err)
	}
	return nil
}

// awaitExecs waits until no command runs in a container any more, and lets none
// begin. A shutdown of the server knows nothing of connections that were upgraded.
func (s *Server) awaitExecs(ctx context.Context) {
	for range cap(s.execs) {
		select {
		case s.execs <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// Run wakes the streams when the store changes and ends them all when ctx is
// done. [Serve] calls it; whoever serves the handler otherwise must, once.
func (s *Server) Run(ctx context.Context) {
	defer close(s.closing)
	for {
		err := s.deps.Store.Changes(ctx, s.hub.note)
		if ctx.Err() != nil {
			return
		}
		s.log.WarnContext(ctx, "the store's change feed ended; asking again", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}
