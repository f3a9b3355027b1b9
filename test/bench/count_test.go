package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestEveryRequestIsCountedOnce(t *testing.T) {
	served := 0
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		served++
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer s.Close()
	d, err := newDialled("tcp://" + s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return d.dial(ctx) }}
	defer transport.CloseIdleConnections()
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete} {
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL, strings.NewReader(strings.Repeat("GETTING ON ", 5000)))
		if err != nil {
			t.Fatal(err)
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	if n := d.requests.Load(); n != int64(served) || served != 5 {
		t.Errorf("%d requests were counted of %d", n, served)
	}
}

func TestAHostThatCannotBeDialledIsRefused(t *testing.T) {
	for _, host := range []string{"", "/var/run/docker.sock", "ssh://machine"} {
		if _, err := newDialled(host); err == nil {
			t.Errorf("%q was taken", host)
		}
	}
}

func TestHalvesOfAPoolDoNotOverlapAndAreAllOfIt(t *testing.T) {
	low, high, err := halves("10.218.7.9/16")
	if err != nil || low.String() != "10.218.0.0/17" || high.String() != "10.218.128.0/17" {
		t.Errorf("%s and %s, %v", low, high, err)
	}
	for _, pool := range []string{"10.218.0.0/24", "fd00::/16", "pool"} {
		if _, _, err := halves(pool); err == nil {
			t.Errorf("%q was taken", pool)
		}
	}
}
