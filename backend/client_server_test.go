package backend_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
)

const (
	clientSecret = "a-secret-of-the-tests-0123456789abcdef"
	lease1       = "018f3c1e-7b2a-7c4d-9e5f-000000000001"
	lease2       = "018f3c1e-7b2a-7c4d-9e5f-000000000002"
	lease3       = "018f3c1e-7b2a-7c4d-9e5f-000000000003"
)

// clientTo is a client of a backend that answers as the handler does.
func clientTo(t *testing.T, handler http.HandlerFunc, adjust ...func(*backend.HTTPClientConfig)) *backend.HTTPClient {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	cfg := backend.HTTPClientConfig{Name: "b1", BaseURL: srv.URL, Secret: clientSecret}
	for _, a := range adjust {
		a(&cfg)
	}
	c := backend.NewHTTPClient(cfg)
	t.Cleanup(c.Close)
	return c
}

// says is a handler that gives one answer to everything.
func says(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func saysJSON(status int, body string) http.HandlerFunc {
	return says(status, "application/json", body)
}

// logTo is a logger, and what it wrote.
func logTo() (*strings.Builder, *slog.Logger) {
	var b strings.Builder
	return &b, slog.New(slog.NewTextHandler(&b, nil))
}
