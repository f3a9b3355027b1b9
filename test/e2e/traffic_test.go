package e2e

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/test/load"
)

const (
	trafficRate    = 20 // requests a second
	requestTimeout = 15 * time.Second
)

// traffic asks a host all the time. done ends it, fails the test for every
// request that failed, and returns which versions answered.
func (b *berth) traffic(host string) (done func() []string) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b.t.Cleanup(cancel)
	first := make(chan struct{})
	report := make(chan load.Report, 1)
	go func() {
		report <- load.Run(ctx, load.Config{Addr: b.addr, Host: host, Rate: trafficRate, FirstAnswer: func() { close(first) }})
	}()
	select {
	case <-first:
	case <-time.After(requestTimeout):
		b.t.Fatalf("http://%s is not answered", host)
	}
	return func() []string {
		b.t.Helper()
		cancel()
		r := <-report
		if r.Failed > 0 {
			b.t.Errorf("%s: %s:\n%s", host, r, strings.Join(r.Examples, "\n"))
		}
		return slices.Sorted(maps.Keys(r.Versions))
	}
}

// onlyBy fails the test unless one version gave all answers.
func onlyBy(t *testing.T, versions []string, want string) {
	t.Helper()
	if !slices.Equal(versions, []string{want}) {
		t.Errorf("answers came from %q, want %s alone", versions, want)
	}
}

// request asks an app by its name, past any resolver.
func (b *berth) request(ctx context.Context, method, host, path, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+host+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", b.addr)
	}}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr, Timeout: requestTimeout}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// get is the body of a request that must be answered well.
func (b *berth) get(host, path string) string {
	b.t.Helper()
	code, body, err := b.request(b.t.Context(), http.MethodGet, host, path, "")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("status %d", code)
	}
	if err != nil {
		b.t.Fatalf("GET http://%s%s: %v: %s", host, path, err, body)
	}
	return body
}

// web is the reference of the web image in a version.
func (b *berth) web(version string) string {
	b.t.Helper()
	return b.engine.web(version)
}
