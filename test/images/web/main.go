// Command web is the program in the images that tests and the example run: a
// small HTTP server that does one thing of each kind that a proxy has to carry,
// and that misbehaves in one chosen way when MODE says so.
//
// It is built static and put into images FROM scratch by test/images/build.
// Everything about it is set by environment variables, which settings.go
// lists. It must never be linked into Berth.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// shutdownTimeout bounds how long requests in flight may go on after SIGTERM.
const shutdownTimeout = 60 * time.Second

func main() {
	s, err := readSettings(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(2)
	}
	signals := []os.Signal{syscall.SIGTERM, os.Interrupt}
	if s.mode == modeStubborn {
		signal.Ignore(signals...)
		signals = []os.Signal{syscall.SIGUSR1}
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	if s.mode == modeAbrupt {
		context.AfterFunc(ctx, func() { os.Exit(128 + int(syscall.SIGTERM)) })
	}
	code, err := run(ctx, s)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
	}
	os.Exit(code)
}

// run serves until ctx ends or the mode ends it, and returns the exit code.
func run(ctx context.Context, s settings) (int, error) {
	if !pause(ctx, s.startDelay) {
		return 0, nil
	}
	if s.mode == modeExit {
		return s.exitEarly(ctx, os.Stdout), nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(s.listenPort())))
	if err != nil {
		return 1, err
	}
	fmt.Printf("web: %s listens on %s\n", s.version, l.Addr())
	switch s.mode {
	case modeSilent:
		return 0, acceptAndSayNothing(ctx, l)
	case modeMemory:
		go eatMemory(ctx, s.memoryStep)
	case modeCrash:
		go func() {
			if pause(ctx, s.after) {
				fmt.Println("web: crashing as asked")
				os.Exit(s.exitCode)
			}
		}()
	}
	return 0, serve(ctx, l, s)
}

// serve answers until ctx ends, then takes no new connection, ends streams
// cleanly and lets every request in flight finish.
func serve(ctx context.Context, l net.Listener, s settings) error {
	streams, endStreams := context.WithCancel(context.Background())
	defer endStreams()
	site := &site{settings: s, streams: streams, besides: besideClient()}
	defer site.besides.CloseIdleConnections()
	srv := &http.Server{
		Handler:           site.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       s.idleTimeout,
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	fmt.Printf("web: %s stops\n", s.version)
	endStreams()
	bound, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err := srv.Shutdown(bound)
	site.sockets.Wait()
	if serveErr := <-failed; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}

// pause waits and says whether it did so to the end.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
