package leaseholder

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/callback"
	"github.com/berth-cloud/berth/backend/hmacauth"
)

// Config is what a Holder needs.
type Config struct {
	BackendURL string
	Secret     string // of requests
	Callback   string // the secret of callbacks
	// Deliver is told each callback as well; nil is nobody. One that it does not take is
	// not acknowledged.
	Deliver func(ctx context.Context, p backend.CallbackPayload) error
	// Timeout bounds one request; 10 s when it is 0.
	Timeout time.Duration
}

// path is where callbacks are sent.
const path = "/callbacks/provision"

// headerTimeout bounds how long a sender may take to say what it wants.
const headerTimeout = 10 * time.Second

// Holder holds leases of one backend. Many may use one at once.
type Holder struct {
	*backend.HTTPClient
	server *http.Server
	url    string
	ended  chan struct{}
	told   func(ctx context.Context, p backend.CallbackPayload) error

	mu      sync.Mutex
	came    map[string][]backend.CallbackPayload // by lease, in the order in which they came
	changed chan struct{}                        // closed, and made anew, with each
}

// Start listens for callbacks on a free port of this machine. Close ends it.
func Start(ctx context.Context, cfg Config) (*Holder, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = 10 * time.Second
	}
	verifier, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{cfg.Callback}})
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &Holder{
		HTTPClient: backend.NewHTTPClient(backend.HTTPClientConfig{
			Name: "under-test", BaseURL: cfg.BackendURL, Secret: cfg.Secret, Timeout: cfg.Timeout,
			CBFailureThresh: 1 << 30, // a backend that is killed again and again is asked again and again
		}),
		url: "http://" + l.Addr().String() + path, ended: make(chan struct{}), told: cfg.Deliver,
		came: map[string][]backend.CallbackPayload{}, changed: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.Handle(path, callback.NewReceiver(callback.Config{Auth: verifier, Deliver: h.keep}))
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: time.Minute}
	go func() {
		defer close(h.ended)
		_ = h.server.Serve(l) // it ends with Close
	}()
	return h, nil
}

// Close ends the listener and the connections.
func (h *Holder) Close() error {
	err := h.server.Close()
	<-h.ended
	h.HTTPClient.Close()
	return err
}

// CallbackURL is where callbacks are to be sent.
func (h *Holder) CallbackURL() string { return h.url }

func (h *Holder) keep(ctx context.Context, p backend.CallbackPayload) error {
	if h.told != nil {
		if err := h.told(ctx, p); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.came[p.LeaseUUID] = append(h.came[p.LeaseUUID], p)
	close(h.changed)
	h.changed = make(chan struct{})
	return nil
}

// Callbacks are those of a lease that came so far.
func (h *Holder) Callbacks(lease string) []backend.CallbackPayload {
	all, _ := h.look(lease)
	return all
}

func (h *Holder) look(lease string) ([]backend.CallbackPayload, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]backend.CallbackPayload(nil), h.came[lease]...), h.changed
}

// ErrNoCallback: the time was up before the callback came.
var ErrNoCallback = errors.New("no callback came")

// Await waits until a lease has had n callbacks, and returns the n-th, from 1.
func (h *Holder) Await(ctx context.Context, lease string, n int) (backend.CallbackPayload, error) {
	for {
		all, changed := h.look(lease)
		if len(all) >= n {
			return all[n-1], nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return backend.CallbackPayload{}, fmt.Errorf("lease %s: %w: it has had %d and number %d is awaited", lease, ErrNoCallback, len(all), n)
		}
	}
}
