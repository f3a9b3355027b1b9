package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestABodyAboveTheLimitIsRefused(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxBodyBytes = 50_000 })
	a := digest(t)
	own := routeTo("own", "own.test", "/", targets(a)...)
	own.MaxBodyBytes = 10
	own.Targets[0].ID = "own"
	r.swap(own, routeTo("app", "app.test", "/", targets(a)...))
	for _, c := range []struct {
		host  string
		n     int
		known bool
		want  int
	}{
		{"app.test", 50_000, true, 200},
		{"app.test", 50_001, true, 413},
		{"app.test", 50_000, false, 200},
		{"app.test", 50_001, false, 413},
		{"own.test", 10, true, 200},
		{"own.test", 11, true, 413},
		{"own.test", 11, false, 413},
	} {
		req := r.request(http.MethodPost, "/", onlyReader{strings.NewReader(strings.Repeat("x", c.n))})
		req.Host = c.host
		if c.known {
			req.ContentLength = int64(c.n)
		}
		if got := r.do(req); got.StatusCode != c.want {
			t.Errorf("%d bytes to %s (length sent: %v): status %d, want %d", c.n, c.host, c.known, got.StatusCode, c.want)
		}
	}
}

func TestAHeadAboveTheLimitsIsRefused(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxHeaderBytes, c.MaxHeaderCount = 8<<10, 20 })
	r.serve(backend(t, says("ok")))
	big := r.raw().send("GET / HTTP/1.1\r\nHost: app.test\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n")
	if got := big.response("GET"); got.StatusCode != 431 {
		t.Errorf("20 KiB of head: status %d, want 431", got.StatusCode)
	}
	for n, want := range map[int]int{20: 200, 21: 431} {
		head := "GET / HTTP/1.1\r\nHost: app.test\r\n"
		for i := range n {
			head += fmt.Sprintf("X-%d: 1\r\n", i%7)
		}
		if got := r.raw().send(head + "\r\n").response("GET"); got.StatusCode != want {
			t.Errorf("%d header lines: status %d, want %d", n, got.StatusCode, want)
		}
	}
}

func TestAClientThatDribblesItsHeadIsClosed(t *testing.T) {
	r := newRig(t, func(c *Config) { c.HeaderTimeout = 40 * time.Millisecond })
	c := r.raw().send("GET / HTTP/1.1\r\nHost: app.test\r\nX-")
	_, _ = c.r.ReadString(0) // whatever it is told before
	if !c.closed() {
		t.Error("the connection stays open")
	}
}

func TestAnIdleClientIsClosed(t *testing.T) {
	r := newRig(t, func(c *Config) { c.ClientIdleTimeout = 40 * time.Millisecond })
	r.serve(backend(t, says("ok")))
	c := r.raw()
	if got := c.send("GET / HTTP/1.1\r\nHost: app.test\r\n\r\n").response("GET"); got.body != "ok" {
		t.Fatalf("got %q", got.body)
	}
	if !c.closed() {
		t.Error("the connection stays open")
	}
}

func TestAmbiguousFramingReachesNoTarget(t *testing.T) {
	r := newRig(t, nil)
	var paths atomic.Value
	paths.Store("")
	a := backend(t, func(_ http.ResponseWriter, q *http.Request) { paths.Store(paths.Load().(string) + q.URL.Path + " ") })
	r.serve(a)
	const start = "POST /front HTTP/1.1\r\nHost: app.test\r\n"
	const smuggled = "GET /smuggled HTTP/1.1\r\nHost: app.test\r\n\r\n"
	for name, c := range map[string]struct {
		rest string
		want int
	}{
		"two lengths":              {"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", 400},
		"a length and a coding":    {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, 400},
		"a coding and a length":    {"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n" + smuggled, 400},
		"a list of lengths":        {"Content-Length: 5, 6\r\n\r\nhello!", 400},
		"a negative length":        {"Content-Length: -1\r\n\r\n", 400},
		"a signed length":          {"Content-Length: +5\r\n\r\nhello", 400},
		"an unknown coding":        {"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 501},
		"a disguised coding":       {"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + smuggled, 400},
		"two codings":              {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501},
		"a space before the colon": {"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + smuggled, 400},
		"a bare line feed in it":   {"X: a\nTransfer-Encoding: \nchunked\r\n\r\n0\r\n\r\n", 400},
		"two hosts":                {"Host: other.test\r\n\r\n", 400},
		"a folded header":          {"X: a\r\n b: c\r\nContent-Length: x\r\n\r\n", 400},
	} {
		conn := r.raw().send(start + c.rest)
		if got := conn.response("POST"); got.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", name, got.StatusCode, c.want)
		}
	}
	if got := paths.Load().(string); got != "" {
		t.Errorf("requests reached the target: %s", got)
	}
}

func TestOpenConnectionsAreBounded(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxConns = 2 })
	r.serve(backend(t, says("ok")))
	const req = "GET / HTTP/1.1\r\nHost: app.test\r\n\r\n"
	first, second := r.raw().send(req), r.raw().send(req)
	first.response("GET")
	second.response("GET")
	third := r.raw().send(req)
	answered := later(func() reply { return third.response("GET") })
	select {
	case <-answered:
		t.Fatal("a third connection was served while two were open")
	case <-time.After(50 * time.Millisecond):
	}
	_ = first.Close()
	if got := receive(t, "the third connection's answer", answered); got.body != "ok" {
		t.Errorf("got %d %q", got.StatusCode, got.body)
	}
}
