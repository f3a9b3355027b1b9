package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/callback"
	"github.com/berth-cloud/berth/backend/hmacauth"
)

// ledger is what is known of leases by their callbacks. It forgets with the process;
// a real one is a database, and acknowledges a callback once it is written there.
type ledger struct {
	url    string // for callbacks
	out    io.Writer
	server *http.Server
	ended  chan struct{}

	mu      sync.Mutex
	last    map[string]backend.CallbackPayload
	changed chan struct{} // closed, and made anew, with each callback
}

// newLedger listens for callbacks on a free port of this machine.
func newLedger(ctx context.Context, secret string, out io.Writer) (*ledger, error) {
	verifier, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}})
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &ledger{
		url: "http://" + listener.Addr().String() + "/callbacks/provision", out: out, ended: make(chan struct{}),
		last: map[string]backend.CallbackPayload{}, changed: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.Handle("/callbacks/provision", callback.NewReceiver(callback.Config{Auth: verifier, Deliver: l.keep}))
	l.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second}
	go func() {
		defer close(l.ended)
		_ = l.server.Serve(listener) // it ends with close
	}()
	return l, nil
}

func (l *ledger) close() error {
	err := l.server.Close()
	<-l.ended
	return err
}

// keep takes a callback. Its return acknowledges it: the backend then sends it no more.
func (l *ledger) keep(_ context.Context, p backend.CallbackPayload) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := ""
	if p.Retained {
		kept = ", its data is retained"
	}
	fmt.Fprintln(l.out, strings.TrimRight("  callback: "+string(p.Status)+kept+" "+p.Error, " "))
	l.last[p.LeaseUUID] = p
	close(l.changed)
	l.changed = make(chan struct{})
	return nil
}

// forget has await hear of what comes from now on alone.
func (l *ledger) forget(lease string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.last, lease)
}

// await returns once the last callback of a lease has a status; one that says that it
// failed is an error.
func (l *ledger) await(ctx context.Context, lease string, status backend.CallbackStatus) error {
	for {
		l.mu.Lock()
		last, changed := l.last[lease], l.changed
		l.mu.Unlock()
		switch last.Status {
		case status:
			return nil
		case backend.CallbackStatusFailed:
			return fmt.Errorf("lease %s failed: %s", lease, last.Error)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("lease %s: no callback says %s: %w", lease, status, ctx.Err())
		}
	}
}
