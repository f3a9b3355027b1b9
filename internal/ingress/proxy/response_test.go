package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"
)

// wireOnce is a backend that answers every request with the same bytes and
// closes the connection after each.
func wireOnce(t testing.TB, response string) string {
	return wire(t, func(_ int, c net.Conn, br *bufio.Reader) {
		if _, _, ok := readRequest(br); ok {
			_, _ = io.WriteString(c, response)
		}
	})
}

func TestResponsesWithoutABodyHaveNone(t *testing.T) {
	r := newRig(t, nil)
	r.serve(backend(t, func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/204":
			w.WriteHeader(http.StatusNoContent)
		case "/304":
			w.Header().Set("Etag", `"x"`)
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("Content-Length", "5")
			_, _ = io.WriteString(w, "hello")
		}
	}))
	c := r.raw()
	for range 2 { // on one connection: framing must hold
		if got := c.send("HEAD / HTTP/1.1\r\nHost: app.test\r\n\r\n").response("HEAD"); got.StatusCode != 200 || got.ContentLength != 5 || got.body != "" {
			t.Errorf("HEAD: %d, length %d, %q", got.StatusCode, got.ContentLength, got.body)
		}
		if got := c.send("GET /204 HTTP/1.1\r\nHost: app.test\r\n\r\n").response("GET"); got.StatusCode != 204 || got.body != "" {
			t.Errorf("204: %d %q", got.StatusCode, got.body)
		}
		if got := c.send("GET /304 HTTP/1.1\r\nHost: app.test\r\n\r\n").response("GET"); got.StatusCode != 304 || got.Header.Get("Etag") != `"x"` {
			t.Errorf("304: %d %v", got.StatusCode, got.Header)
		}
		if got := c.send("GET / HTTP/1.1\r\nHost: app.test\r\n\r\n").response("GET"); got.body != "hello" {
			t.Errorf("GET: %d %q", got.StatusCode, got.body)
		}
	}
}

func TestEarlyHintsArePassedOnBeforeTheResponse(t *testing.T) {
	r := newRig(t, nil)
	r.serve(backend(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("X-Final", "yes")
		_, _ = io.WriteString(w, "body")
	}))
	var hints []string
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		if code == http.StatusEarlyHints {
			hints = append(hints, h.Get("Link"))
		}
		return nil
	}})
	got := r.do(r.request(http.MethodGet, "/", nil).WithContext(ctx))
	if len(hints) != 1 || hints[0] != "</a.css>; rel=preload" || got.body != "body" || got.Header.Get("X-Final") != "yes" {
		t.Errorf("hints %q, response %v %q", hints, got.Header, got.body)
	}
}

func TestTrailersArePassedOnAnnouncedOrNot(t *testing.T) {
	r := newRig(t, nil)
	r.serve(backend(t, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/announced" {
			w.Header().Set("Trailer", "X-Sum")
			_, _ = io.WriteString(w, "body")
			w.Header().Set("X-Sum", "42")
			return
		}
		_, _ = io.WriteString(w, "body")
		_ = http.NewResponseController(w).Flush()
		w.Header().Set(http.TrailerPrefix+"X-Sum", "42")
	}))
	for _, path := range []string{"/announced", "/not"} {
		if got := r.get(path); got.body != "body" || got.Trailer.Get("X-Sum") != "42" {
			t.Errorf("%s: %q, trailers %v", path, got.body, got.Trailer)
		}
	}
}

func TestAResponseThatEndsWithItsConnectionIsComplete(t *testing.T) {
	r := newRig(t, nil)
	for _, head := range []string{"HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"} {
		r.serve(wireOnce(t, head+"until the end"))
		if got := r.get("/"); got.body != "until the end" {
			t.Errorf("%q: %q", head, got.body)
		}
	}
}

func TestAnUnusableAnswerIsABadGateway(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxUpstreamHead = 8 << 10 })
	for name, response := range map[string]string{
		"nothing":               "",
		"no HTTP":               "SSH-2.0-OpenSSH_9.2\r\n",
		"a broken head":         "HTTP/1.1 200 OK\r\nContent-",
		"two lengths":           "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
		"a head without end":    "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Filler: 0123456789\r\n", 2000),
		"endless informational": strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 50),
	} {
		r.serve(wireOnce(t, response))
		before := r.p.Report().Failed["app"]
		if got := r.do(r.request(http.MethodPost, "/", nil)); got.StatusCode != 502 {
			t.Errorf("%s: status %d, want 502", name, got.StatusCode)
		}
		if n := r.p.Report().Failed["app"] - before; n != 1 {
			t.Errorf("%s: counted %d times as failed", name, n)
		}
	}
}

func TestATruncatedResponseIsTruncatedForTheClient(t *testing.T) {
	r := newRig(t, nil)
	for _, response := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
	} {
		r.serve(wireOnce(t, response))
		res, err := r.client.Do(r.request(http.MethodGet, "/", nil))
		if err != nil {
			continue // seen even earlier
		}
		_, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err == nil {
			t.Errorf("%q looks complete to the client", response)
		}
	}
}

func TestATargetThatDoesNotAnswerIsAGatewayTimeout(t *testing.T) {
	r := newRig(t, func(c *Config) { c.ResponseTimeout = 50 * time.Millisecond })
	_, a := newGate(t, "never")
	r.serve(a)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if got := r.do(r.request(method, "/", nil)); got.StatusCode != 504 {
			t.Errorf("%s: status %d, want 504", method, got.StatusCode)
		}
	}
}

func TestTheResponseTimeoutIsNotOverAResponsesBody(t *testing.T) {
	r := newRig(t, func(c *Config) { c.ResponseTimeout = 60 * time.Millisecond })
	send, a := stream(t, "text/plain")
	r.serve(a)
	_, body := r.open("/")
	x := r.onlyExchange()
	until(t, "the exchange is watched", func() bool { x.t.mu.Lock(); defer x.t.mu.Unlock(); return x.armed })
	timer := time.NewTimer(100 * time.Millisecond)
	defer timer.Stop()
	<-timer.C
	send <- "late"
	expect(t, body, "late")
}

func TestAClientThatLeavesEndsItsRequestAtTheTarget(t *testing.T) {
	r := newRig(t, nil)
	gone := make(chan struct{})
	a := backend(t, func(_ http.ResponseWriter, q *http.Request) {
		<-q.Context().Done()
		close(gone)
	})
	r.serve(a)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := r.client.Do(r.request(http.MethodGet, "/", nil).WithContext(ctx))
		if err == nil {
			t.Error("the request succeeded")
		}
	}()
	r.waitInFlight(a, 1)
	cancel()
	receive(t, "the end at the target", gone)
	r.waitInFlight(a, 0)
	if n := r.p.Report().Failed["app"]; n != 0 {
		t.Errorf("a client that left counts as %d failed requests", n)
	}
}
