package h1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

func serve(t testing.TB, h http.HandlerFunc, change func(*Config)) (*Server, string) {
	t.Helper()
	cfg := Config{
		Handler: h, Log: slog.New(slog.DiscardHandler), Now: time.Now, MaxHeadBytes: 16 << 10,
		HeadTimeout: patience, IdleTimeout: patience, DiscardTimeout: time.Second,
	}
	if change != nil {
		change(&cfg)
	}
	s := New(cfg)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("serve: %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx, 0); err != nil {
			t.Errorf("connections stay open: %v", err)
		}
	})
	return s, l.Addr().String()
}

func dial(t testing.TB, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { _ = c.Close() })
	return c, bufio.NewReader(c)
}

func write(t testing.TB, c net.Conn, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		t.Fatal(err)
	}
}

// whole is everything the server says until it closes the connection.
func whole(t testing.TB, addr, request string) string {
	t.Helper()
	c, r := dial(t, addr)
	write(t, c, request)
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%q: %v after %q", request, err, b)
	}
	return string(b)
}

func echo(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	w.Header()["Date"] = nil
	out := fmt.Sprintf("%s %s %s %q %v", r.Method, r.RequestURI, r.Host, b, err)
	w.Header().Set("Content-Length", fmt.Sprint(len(out)))
	_, _ = io.WriteString(w, out)
}

func TestRequestsThatComeTogetherAreAnsweredInOrder(t *testing.T) {
	_, addr := serve(t, echo, nil)
	got := whole(t, addr, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"+
		"POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\r\n"+
		"POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n"+
		"GET /4 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"+
		"GET /5 HTTP/1.1\r\nHost: a\r\n\r\n")
	for _, part := range []string{`GET /1 a "" <nil>`, `POST /2 a "abc" <nil>`, `POST /3 a "de" <nil>`, `GET /4 a "" <nil>`} {
		i := strings.Index(got, part)
		if i < 0 {
			t.Fatalf("no answer %q in order in %q", part, got)
		}
		got = got[i+len(part):]
	}
	if got != "" {
		t.Errorf("after the last one came %q", got)
	}
}

func TestHTTP10EndsOrKeepsItsConnectionAsAsked(t *testing.T) {
	_, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil
		if r.URL.Path == "/known" {
			w.Header().Set("Content-Length", "2")
		}
		_, _ = io.WriteString(w, "ok")
	}, nil)
	for request, want := range map[string]string{
		"GET / HTTP/1.0\r\n\r\n":                                    "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok",
		"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n":          "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok",
		"GET /known HTTP/1.0\r\n\r\n":                               "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nok\r\n0\r\n\r\n",
	} {
		if got := whole(t, addr, request); got != want {
			t.Errorf("%q was answered %q, want %q", request, got, want)
		}
	}
	c, r := dial(t, addr)
	for range 2 {
		write(t, c, "GET /known HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
		res, err := http.ReadResponse(r, nil)
		if err != nil || res.Header.Get("Connection") != "keep-alive" {
			t.Fatalf("%+v, %v", res, err)
		}
		if b, err := io.ReadAll(res.Body); err != nil || string(b) != "ok" {
			t.Fatalf("%q, %v", b, err)
		}
	}
}

func TestABrokenHeadIsRefusedAndTheConnectionEnds(t *testing.T) {
	_, addr := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it reached the handler") }, nil)
	for request, want := range map[string]string{
		"nonsense\r\n\r\n":                                               "400",
		"GET / HTTP/2.0\r\nHost: a\r\n\r\n":                              "505",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                               "505",
		"GET / HTTP/1.1\r\n\r\n":                                         "400",
		"GET / HTTP/1.1\r\nHost: a b\r\n\r\n":                            "400",
		"GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n":                   "400",
		"GET / HTTP/1.1\r\nHost: a\r\nX y: 1\r\n\r\n":                    "400",
		"GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n":                 "417",
		"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n":                          "400",
		"G\xe9T / HTTP/1.1\r\nHost: a\r\n\r\n":                           "400",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n":  "501",
		"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 20<<10): "431",
	} {
		if got := whole(t, addr, request); !strings.HasPrefix(got, "HTTP/1.1 "+want+" ") || !strings.Contains(got, "Connection: close\r\n") {
			t.Errorf("%.60q was answered %q, want %s", request, got, want)
		}
	}
}

const ambiguousStart = "POST / HTTP/1.1\r\nHost: a\r\n"

func TestALengthBesideACodingIsRefusedHoweverItArrives(t *testing.T) {
	_, addr := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s reached the handler", r.URL.Path) }, nil)
	const body = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
	long := "X: " + strings.Repeat("x", 6<<10) + "\r\n" // longer than the read buffer
	for name, request := range map[string]string{
		"length first":          ambiguousStart + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + body,
		"coding first":          ambiguousStart + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + body,
		"equal lengths":         ambiguousStart + "Content-Length: 0\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n" + body,
		"odd case":              ambiguousStart + "cOnTeNt-LENGTH:3\r\ntRANSFER-eNCODING:chunked\r\n\r\n" + body,
		"bare line feeds":       strings.ReplaceAll(ambiguousStart, "\r", "") + "Content-Length: 3\nTransfer-Encoding: chunked\n\n" + body,
		"a folded value":        ambiguousStart + "Content-Length:\r\n 3\r\nTransfer-Encoding:\r\n chunked\r\n\r\n" + body,
		"a length of no number": ambiguousStart + "Content-Length: x\r\nTransfer-Encoding: chunked\r\n\r\n" + body,
		"far apart":             ambiguousStart + "Content-Length: 3\r\n" + long + "Transfer-Encoding: chunked\r\n\r\n" + body,
		"coding in HTTP/1.0":    "POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + body,
	} {
		for _, step := range []int{len(request), 7, 1} {
			if step < len(request) && name == "far apart" {
				continue // thousands of packets show nothing new
			}
			c, r := dial(t, addr)
			for part := range slices.Chunk([]byte(request), step) {
				if _, err := c.Write(part); err != nil {
					break // the answer may be here before all has been said
				}
			}
			got, err := io.ReadAll(r)
			if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 400 ") || strings.Count(string(got), "HTTP/1.1") != 1 {
				t.Errorf("%s, %d bytes at a time: answered %q, %v; want one 400 and the end", name, step, got, err)
			}
		}
	}
}

func TestOneFramingOrNoneIsServed(t *testing.T) {
	_, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("body: %v", err)
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		_, _ = w.Write(b)
	}, nil)
	c, r := dial(t, addr)
	// The bodies hold lines that look like the other framing's fields, and the
	// fields of one request must not count for the next.
	for range 3 {
		write(t, c, ambiguousStart+"Content-Length: 28\r\n\r\nTransfer-Encoding: chunked\r\n"+
			ambiguousStart+"Transfer-Encoding: chunked\r\n\r\n13\r\nContent-Length: 3\r\n\r\n0\r\n\r\n\r\n"+
			"GET / HTTP/1.1\r\nHost: a\r\nX-Content-Length: 1\r\nX: Transfer-Encoding: y\r\n\r\n")
		for _, want := range []string{"Transfer-Encoding: chunked\r\n", "Content-Length: 3\r\n", ""} {
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK || string(got) != want {
				t.Fatalf("status %d, body %q, %v; want 200 and %q", resp.StatusCode, got, err, want)
			}
		}
	}
}

func TestNoHeaderValueCanBeginAnotherLine(t *testing.T) {
	_, addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		w.Header()["X"] = []string{"a\r\nSet-Cookie: evil=1\r\n\r\n<script>"}
		w.Header()["Content-Length"] = []string{"0"}
	}, nil)
	got := whole(t, addr, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	if !strings.Contains(got, "X: a  Set-Cookie: evil=1    <script>\r\n") || strings.Count(got, "\r\n\r\n") != 1 {
		t.Errorf("on the wire: %q", got)
	}
}

func TestAWrongLengthShowsAsATruncationOrAnError(t *testing.T) {
	errs := make(chan error, 1)
	_, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "3")
		_, err := io.WriteString(w, r.URL.Path[1:])
		errs <- err
	}, nil)
	if got := whole(t, addr, "GET /ab HTTP/1.1\r\nHost: a\r\n\r\n"); !strings.HasSuffix(got, "\r\n\r\nab") {
		t.Errorf("a short body: %q", got)
	}
	<-errs
	if got := whole(t, addr, "GET /abcd HTTP/1.1\r\nHost: a\r\n\r\n"); !strings.HasSuffix(got, "\r\n\r\n") {
		t.Errorf("a long body: %q", got)
	}
	if err := <-errs; !errors.Is(err, http.ErrContentLength) {
		t.Errorf("the handler got %v", err)
	}
}

func TestAnUnreadBodyIsDiscardedOrEndsTheConnection(t *testing.T) {
	_, addr := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "0") }, nil)
	c, r := dial(t, addr)
	write(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("x", 100_000)+"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	for range 2 {
		if res, err := http.ReadResponse(r, nil); err != nil || res.StatusCode != 200 || res.Close {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	got := whole(t, addr, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
	if strings.Count(got, "HTTP/1.1 ") != 1 || !strings.Contains(got, "Connection: close") {
		t.Errorf("a large body that never came: %q", got)
	}
}

func TestAPanicEndsTheConnectionOnly(t *testing.T) {
	_, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/abort" {
			_, _ = io.WriteString(w, "part")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		if r.URL.Path == "/bug" {
			panic("a bug")
		}
		w.Header().Set("Content-Length", "0")
	}, nil)
	if got := whole(t, addr, "GET /abort HTTP/1.1\r\nHost: a\r\n\r\n"); !strings.HasSuffix(got, "4\r\npart\r\n") {
		t.Errorf("an aborted response: %q, want no last chunk", got)
	}
	if got := whole(t, addr, "GET /bug HTTP/1.1\r\nHost: a\r\n\r\n"); got != "" {
		t.Errorf("a bug: %q", got)
	}
	if got := whole(t, addr, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("after it: %q", got)
	}
}

func TestAWatchedClientThatLeavesEndsTheContext(t *testing.T) {
	entered, ended := make(chan struct{}), make(chan struct{})
	_, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		res := w.(*Response)
		res.Watch()
		res.Watch()
		close(entered)
		<-res.Context().Done()
		close(ended)
	}, nil)
	c, _ := dial(t, addr)
	write(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab")
	<-entered
	_ = c.Close()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the context goes on")
	}
}

func TestAWatchCostsNoRequestItsBytes(t *testing.T) {
	go1 := make(chan struct{})
	_, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		res := w.(*Response)
		res.Watch()
		if r.URL.Path == "/1" {
			<-go1
		}
		echo(w, r)
		if err := res.Context().Err(); err != nil {
			t.Errorf("%s: the client counts as gone: %v", r.URL.Path, err)
		}
	}, nil)
	c, r := dial(t, addr)
	write(t, c, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
	write(t, c, "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n") // while the first is being watched
	close(go1)
	for i := 1; i <= 2; i++ {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := io.ReadAll(res.Body); !strings.HasPrefix(string(b), fmt.Sprintf("GET /%d ", i)) {
			t.Errorf("answer %d is %q", i, b)
		}
	}
}

func TestShutdownFinishesRequestsAndClosesIdleConnections(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	s, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(entered)
			<-leave
		}
		w.Header().Set("Content-Length", "0")
	}, nil)
	idle, ir := dial(t, addr)
	write(t, idle, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if res, err := http.ReadResponse(ir, nil); err != nil || res.Close {
		t.Fatalf("%+v, %v", res, err)
	}
	busy, br := dial(t, addr)
	write(t, busy, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
	<-entered
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() { done <- s.Shutdown(ctx, 0) }()
	if _, err := ir.ReadByte(); err != io.EOF {
		t.Errorf("the idle connection: %v", err)
	}
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("the listener still takes connections")
	}
	close(leave)
	if res, err := http.ReadResponse(br, nil); err != nil || res.StatusCode != 200 {
		t.Errorf("the busy connection: %+v, %v", res, err)
	}
	if err := <-done; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

func TestALingeringShutdownServesIdleConnectionsOnceMore(t *testing.T) {
	s, addr := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "0") }, nil)
	c, r := dial(t, addr)
	const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	write(t, c, get)
	if res, err := http.ReadResponse(r, nil); err != nil || res.Close {
		t.Fatalf("%+v, %v", res, err)
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() { done <- s.Shutdown(ctx, patience) }()
	for !s.closing.Load() {
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
	}
	write(t, c, get)
	if res, err := http.ReadResponse(r, nil); err != nil || !res.Close {
		t.Errorf("%+v, %v; want an answer that says close", res, err)
	}
	if err := <-done; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}
