package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/callback"
	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/provider"
)

const (
	secret = "a-secret-of-the-tests-0123456789abcdef"
	lease  = "018f3c1e-7b2a-7c4d-9e5f-0123456789ab"
	target = "https://holder.example/callbacks/provision?token=hush"
)

// tb is a test, or one run of a model.
type tb interface {
	Helper()
	Fatal(args ...any)
}

// clock is a time that the test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Unix(1_800_000_000, 0).UTC()} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// wire is a transport of which the test is the other end.
type wire func(*http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

func reply(code int, body string) *http.Response {
	rec := httptest.NewRecorder()
	rec.WriteHeader(code)
	_, _ = io.WriteString(rec, body)
	return rec.Result()
}

// holder is the real receiver of callbacks with a ledger behind it.
type holder struct {
	receiver *callback.Receiver

	mu  sync.Mutex
	got []backend.CallbackPayload
}

func newHolder(t tb, now func() time.Time) *holder {
	t.Helper()
	v, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	h := new(holder)
	h.receiver = callback.NewReceiver(callback.Config{Auth: v, Clock: now, Deliver: func(_ context.Context, p backend.CallbackPayload) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, p)
		return nil
	}})
	return h
}

// RoundTrip hands a request to the receiver, without a network.
func (h *holder) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	in := httptest.NewRequestWithContext(r.Context(), r.Method, r.URL.RequestURI(), r.Body)
	in.Header = r.Header.Clone()
	rec := httptest.NewRecorder()
	h.receiver.ServeHTTP(rec, in)
	return rec.Result(), nil
}

// words are the error texts that were delivered: the tests number callbacks by them.
func (h *holder) words() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []string{}
	for _, p := range h.got {
		out = append(out, p.Error)
	}
	return out
}

func newOutbox(t tb, store provider.StateStore, now func() time.Time, to http.RoundTripper, change func(*outbox.Config)) *outbox.Outbox {
	t.Helper()
	key, err := hmacauth.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	cfg := outbox.Config{Store: store, Prefix: "backend/callbacks", Key: key, Client: &http.Client{Transport: to}, Now: now}
	if change != nil {
		change(&cfg)
	}
	o, err := outbox.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// add stores a failed callback whose operation and error text are word.
func add(t testing.TB, o *outbox.Outbox, word string) {
	t.Helper()
	if err := o.Add(t.Context(), lease, target, word, failedWith(word)); err != nil {
		t.Fatal(err)
	}
}

func failedWith(word string) backend.CallbackPayload {
	return backend.CallbackPayload{Status: backend.CallbackStatusFailed, Error: word, Backend: "docker-1"}
}

func step(t testing.TB, o *outbox.Outbox) time.Duration {
	t.Helper()
	again, err := o.Step(t.Context(), lease)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// payloadOf is what a request says.
func payloadOf(r *http.Request) (p backend.CallbackPayload) {
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, json.Unmarshal(body, &p)); err != nil {
		panic(err)
	}
	return p
}

// value is that of one counter or gauge.
func value(t testing.TB, c prometheus.Collector) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 {
		t.Fatal(families, err)
	}
	m := families[0].GetMetric()[0]
	return m.GetCounter().GetValue() + m.GetGauge().GetValue()
}
