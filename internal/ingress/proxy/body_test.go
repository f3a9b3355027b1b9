package proxy

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// digest is a backend that answers how much of which content it got, and the
// framing it came in.
func digest(t testing.TB) string {
	return backend(t, func(w http.ResponseWriter, r *http.Request) {
		h := sha256.New()
		n, err := io.Copy(h, r.Body)
		_, _ = fmt.Fprintf(w, "%d %x %v length=%d trailer=%q", n, h.Sum(nil)[:4], err, r.ContentLength, r.Trailer.Get("X-Sum"))
	})
}

func digestOf(s string) string {
	h := sha256.Sum256([]byte(s))
	return fmt.Sprintf("%d %x <nil>", len(s), h[:4])
}

// onlyReader hides a body's length, so that it is sent chunked.
type onlyReader struct{ io.Reader }

func TestRequestBodiesArriveWhole(t *testing.T) {
	r := newRig(t, nil)
	r.serve(digest(t))
	for _, n := range []int{0, 1, 5_000, smallBody, smallBody + 1, 3 << 20} {
		body := strings.Repeat("x", n)
		got := r.do(r.request(http.MethodPost, "/", strings.NewReader(body)))
		if want := digestOf(body) + fmt.Sprintf(" length=%d", n); !strings.HasPrefix(got.body, want) {
			t.Errorf("%d bytes with a length: %q, want %q", n, got.body, want)
		}
		if n == 0 {
			continue
		}
		got = r.do(r.request(http.MethodPost, "/", onlyReader{strings.NewReader(body)}))
		if want := digestOf(body) + " length=-1"; !strings.HasPrefix(got.body, want) {
			t.Errorf("%d bytes chunked: %q, want %q", n, got.body, want)
		}
	}
}

func TestAnUploadLeavesTheConnectionsUsable(t *testing.T) {
	r := newRig(t, nil)
	conns := make(chan string, 16)
	r.serve(backend(t, func(_ http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		conns <- q.RemoteAddr
	}))
	first := ""
	for i := range 4 {
		r.do(r.request(http.MethodPut, "/", strings.NewReader(strings.Repeat("x", 100_000))))
		a := receive(t, "the target's answer", conns)
		if i == 0 {
			first = a
		} else if a != first {
			t.Errorf("upload %d came over another connection", i)
		}
		until(t, "the connection is back", func() bool { return r.p.inFlight() == 0 })
	}
}

func TestRequestTrailersArePassedOn(t *testing.T) {
	r := newRig(t, nil)
	r.serve(digest(t))
	req := r.request(http.MethodPost, "/", nil)
	req.Trailer = http.Header{"X-Sum": nil}
	req.Body = io.NopCloser(&endFunc{strings.NewReader("body"), func() { req.Trailer.Set("X-Sum", "42") }})
	req.ContentLength = -1
	if got := r.do(req); !strings.Contains(got.body, `trailer="42"`) {
		t.Errorf("the target saw %q", got.body)
	}
}

// endFunc calls f when the reader has ended.
type endFunc struct {
	io.Reader
	f func()
}

func (e *endFunc) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err == io.EOF {
		e.f()
	}
	return n, err
}

const expectHead = "POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"

func TestAnExpectationIsAnsweredByTheTarget(t *testing.T) {
	r := newRig(t, nil)
	r.serve(digest(t))
	c := r.raw().send(expectHead)
	if res, err := http.ReadResponse(c.r, nil); err != nil || res.StatusCode != 100 {
		t.Fatalf("got %+v, %v; want 100 Continue", res, err)
	}
	if got := c.send("body").response("POST"); !strings.HasPrefix(got.body, digestOf("body")) {
		t.Errorf("the target saw %q", got.body)
	}
}

func TestATargetThatRefusesAnExpectationGetsNoBody(t *testing.T) {
	r := newRig(t, nil)
	rest := make(chan string, 1)
	r.serve(wire(t, func(_ int, c net.Conn, br *bufio.Reader) {
		req, err := http.ReadRequest(br)
		if err != nil || req.Header.Get("Expect") != "100-continue" {
			t.Errorf("the target got %+v, %v", req, err)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
		b, _ := io.ReadAll(br)
		rest <- string(b)
	}))
	c := r.raw().send(expectHead)
	if got := c.response("POST"); got.StatusCode != 401 || got.body != "no" {
		t.Errorf("got %d %q, want the target's refusal and no 100 before it", got.StatusCode, got.body)
	}
	if b := receive(t, "the connection's end", rest); b != "" {
		t.Errorf("the target got the body %q", b)
	}
}

func TestAnUnansweredExpectationIsSentAllTheSame(t *testing.T) {
	r := newRig(t, nil)
	r.serve(wire(t, func(_ int, c net.Conn, br *bufio.Reader) {
		if _, body, ok := readRequest(br); ok && body == "body" {
			_, _ = io.WriteString(c, okResponse)
		}
	}))
	c := r.raw().send(expectHead)
	if res, err := http.ReadResponse(c.r, nil); err != nil || res.StatusCode != 100 {
		t.Fatalf("got %+v, %v; want 100 Continue", res, err)
	}
	if got := c.send("body").response("POST"); got.body != "ok" {
		t.Errorf("got %d %q", got.StatusCode, got.body)
	}
}

func TestAnEarlyRefusalOfAnUploadReachesTheClient(t *testing.T) {
	r := newRig(t, nil)
	r.serve(wire(t, func(_ int, c net.Conn, br *bufio.Reader) {
		if _, err := http.ReadRequest(br); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
			_, _ = io.Copy(io.Discard, br)
		}
	}))
	c := r.raw().send("POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 1000000\r\n\r\npart of it")
	if got := c.response("POST"); got.StatusCode != 413 || got.body != "big" {
		t.Errorf("got %d %q, want the target's refusal", got.StatusCode, got.body)
	}
	if !c.closed() {
		t.Error("the connection stays open though the body was not read")
	}
}

func TestBothDirectionsStreamAtOnce(t *testing.T) {
	r := newRig(t, nil)
	r.serve(backend(t, func(w http.ResponseWriter, q *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.EnableFullDuplex()
		_ = rc.Flush()
		br := bufio.NewReader(q.Body)
		for {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(w, strings.ToUpper(line))
			_ = rc.Flush()
		}
	}))
	pr, pw := io.Pipe()
	res, err := r.client.Do(r.request(http.MethodPost, "/", pr))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body := bufio.NewReader(res.Body)
	for _, line := range []string{"one\n", "two\n", "three\n"} {
		if _, err := io.WriteString(pw, line); err != nil {
			t.Fatal(err)
		}
		expect(t, body, strings.ToUpper(line))
	}
	_ = pw.Close()
	if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
		t.Errorf("the end: %q, %v", rest, err)
	}
}

func TestAStreamedUploadIsNotRepeatedOnceBegun(t *testing.T) {
	r := newRig(t, nil)
	var n int
	done := make(chan struct{}, 8)
	r.serve(wire(t, func(_ int, _ net.Conn, br *bufio.Reader) {
		if _, _, ok := readRequest(br); ok {
			n++
		}
		done <- struct{}{}
	}))
	if got := r.do(r.request(http.MethodPut, "/", onlyReader{strings.NewReader("streamed")})); got.StatusCode != 502 {
		t.Errorf("status %d, want 502", got.StatusCode)
	}
	receive(t, "the target's request", done)
	if n != 1 {
		t.Errorf("the target got %d requests, want 1", n)
	}
}

func TestAnUploadThatBreaksOffIsNotCompletedForTheTarget(t *testing.T) {
	r := newRig(t, nil)
	seen := make(chan error, 1)
	a := backend(t, func(_ http.ResponseWriter, q *http.Request) {
		_, err := io.ReadAll(q.Body)
		seen <- err
	})
	r.serve(a)
	c := r.raw().send("POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
	r.waitInFlight(a, 1)
	_ = c.Close()
	if err := receive(t, "the target's error", seen); err == nil {
		t.Error("the target took half an upload for a whole one")
	}
	r.waitInFlight(a, 0)
}

func TestAnUploadThatStallsIsEnded(t *testing.T) {
	r := newRig(t, func(c *Config) { c.ClientStall = 50 * time.Millisecond })
	r.serve(digest(t))
	for _, head := range []string{
		"Content-Length: 10\r\n\r\nhalf",
		"Content-Length: 1000000\r\n\r\nhalf",
	} {
		c := r.raw().send("POST / HTTP/1.1\r\nHost: app.test\r\n" + head)
		if got := c.response("POST"); got.StatusCode != 408 {
			t.Errorf("%q: status %d, want 408", head, got.StatusCode)
		}
	}
	until(t, "nothing in flight", func() bool { return r.p.inFlight() == 0 })
}
