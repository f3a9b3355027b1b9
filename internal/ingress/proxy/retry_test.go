package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// wire is a backend that speaks HTTP by hand: each handles one connection, and
// n counts them from 1.
func wire(t testing.TB, each func(n int, c net.Conn, r *bufio.Reader)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(patience))
			go func() {
				defer func() { _ = c.Close() }()
				each(n, c, bufio.NewReader(c))
			}()
		}
	}()
	return l.Addr().String()
}

// readRequest reads a request with its body; false at the connection's end.
func readRequest(r *bufio.Reader) (*http.Request, string, bool) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil, "", false
	}
	b, err := io.ReadAll(req.Body)
	return req, string(b), err == nil
}

const okResponse = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func TestARequestThatCanBeRepeatedSurvivesADeadPooledConnection(t *testing.T) {
	r := newRig(t, nil)
	for _, c := range []struct {
		method, body string
		want         int
	}{
		{"GET", "", 200}, {"HEAD", "", 200}, {"PUT", "small", 200}, {"DELETE", "", 200},
		{"POST", "", 502}, {"POST", "small", 502}, {"PATCH", "x", 502},
	} {
		var requests atomic.Int64
		a := wire(t, func(n int, conn net.Conn, br *bufio.Reader) {
			for served := 0; ; served++ {
				req, _, ok := readRequest(br)
				if !ok {
					return
				}
				requests.Add(1)
				if n == 1 && served == 1 {
					return // closes after it has taken the second request
				}
				if req.Method == "HEAD" {
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
				} else {
					_, _ = io.WriteString(conn, okResponse)
				}
			}
		})
		r.serve(a)
		r.get("/first")
		got := r.do(r.request(c.method, "/second", strings.NewReader(c.body)))
		if got.StatusCode != c.want {
			t.Errorf("%s %q: status %d, want %d", c.method, c.body, got.StatusCode, c.want)
		}
		if want := map[int]int64{200: 3, 502: 2}[c.want]; requests.Load() != want {
			t.Errorf("%s %q: the target got %d requests, want %d", c.method, c.body, requests.Load(), want)
		}
	}
}

func TestARequestIsNotRepeatedOnceItsAnswerHasBegun(t *testing.T) {
	r := newRig(t, nil)
	var requests atomic.Int64
	r.serve(wire(t, func(_ int, c net.Conn, br *bufio.Reader) {
		if _, _, ok := readRequest(br); ok {
			requests.Add(1)
			_, _ = io.WriteString(c, "HTTP/1.1 20")
		}
	}))
	if got := r.get("/"); got.StatusCode != 502 {
		t.Errorf("status %d, want 502", got.StatusCode)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("the target got %d requests, want 1", n)
	}
}

func TestAConnectionThatTheTargetClosedIsNotUsedAgain(t *testing.T) {
	r := newRig(t, nil)
	closed := make(chan struct{}, 64)
	a := wire(t, func(_ int, c net.Conn, br *bufio.Reader) {
		if _, _, ok := readRequest(br); ok {
			_, _ = io.WriteString(c, okResponse) // and closes, without saying so before
		}
		_ = c.Close()
		closed <- struct{}{}
	})
	r.serve(a)
	for range 30 {
		// A POST must not be repeated, so a dead connection would show.
		if got := r.do(r.request(http.MethodPost, "/", strings.NewReader("x"))); got.StatusCode != 200 {
			t.Fatalf("status %d", got.StatusCode)
		}
		receive(t, "the target's close", closed)
	}
}

func TestPostsNeverFailAgainstATargetThatClosesIdleConnections(t *testing.T) {
	// The target closes after 40 ms without a request; requests come around
	// that time. UnsafeIdle must be below it, as 250 ms is below real servers'.
	r := newRig(t, func(c *Config) { c.UnsafeIdle = 10 * time.Millisecond })
	s := httptest.NewUnstartedServer(says("ok"))
	s.Config.IdleTimeout = 40 * time.Millisecond
	s.Start()
	t.Cleanup(s.Close)
	r.serve(address(s))
	gap := time.NewTimer(0)
	defer gap.Stop()
	for i := range 40 {
		if got := r.do(r.request(http.MethodPost, "/", strings.NewReader("x"))); got.StatusCode != 200 {
			t.Fatalf("POST %d: status %d", i, got.StatusCode)
		}
		gap.Reset(35*time.Millisecond + time.Duration(i%11)*time.Millisecond)
		<-gap.C
	}
}

func TestAnUnsolicitedAnswerOnAPooledConnectionIsNotTakenForTheNext(t *testing.T) {
	r := newRig(t, nil)
	spoiled := make(chan struct{})
	a := wire(t, func(n int, c net.Conn, br *bufio.Reader) {
		for {
			if _, _, ok := readRequest(br); !ok {
				return
			}
			_, _ = io.WriteString(c, okResponse)
			if n == 1 {
				_, _ = io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
				close(spoiled)
			}
		}
	})
	r.serve(a)
	r.get("/")
	receive(t, "the unsolicited answer", spoiled)
	if got := r.get("/"); got.StatusCode != 200 {
		t.Errorf("status %d, want the second request's own answer", got.StatusCode)
	}
}

func TestIdleConnectionsAreClosedAfterTheirTime(t *testing.T) {
	r := newRig(t, func(c *Config) { c.UpstreamIdle = 30 * time.Millisecond })
	ended := make(chan struct{})
	r.serve(wire(t, func(_ int, c net.Conn, br *bufio.Reader) {
		for {
			if _, _, ok := readRequest(br); !ok {
				close(ended)
				return
			}
			_, _ = io.WriteString(c, okResponse)
		}
	}))
	r.get("/")
	receive(t, "the end of the idle connection", ended)
}

func TestTheTargetsKeepAliveTimeIsHeeded(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"":                      0,
		"timeout=5":             4 * time.Second,
		"max=100, Timeout = 3 ": 2 * time.Second,
		"timeout=1":             -1,
		"timeout=0":             -1,
		"timeout=x":             0,
	} {
		h := http.Header{}
		if header != "" {
			h.Set("Keep-Alive", header)
		}
		if got := keepAliveLimit(h); got != want {
			t.Errorf("Keep-Alive %q: %s, want %s", header, got, want)
		}
	}
}
