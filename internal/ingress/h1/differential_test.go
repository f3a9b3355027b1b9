package h1

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// script is a connection whose client has said everything and then reads.
type script struct {
	in  *bytes.Reader
	out bytes.Buffer
	mu  sync.Mutex

	once   sync.Once
	closed chan struct{}
}

func newScript(b []byte) *script { return &script{in: bytes.NewReader(b), closed: make(chan struct{})} }

func (s *script) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in.Read(p)
}

func (s *script) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

func (s *script) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *script) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (s *script) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// once is a listener with one connection.
type once struct {
	c    chan net.Conn
	gone chan struct{}
	stop sync.Once
}

func listenOnce(c net.Conn) *once {
	l := &once{c: make(chan net.Conn, 1), gone: make(chan struct{})}
	l.c <- c
	return l
}

func (l *once) Accept() (net.Conn, error) {
	select {
	case c := <-l.c:
		return c, nil
	case <-l.gone:
		return nil, net.ErrClosed
	}
}
func (l *once) Close() error   { l.stop.Do(func() { close(l.gone) }); return nil }
func (l *once) Addr() net.Addr { return &net.TCPAddr{} }

// recorder notes what the handler saw of each request.
type recorder struct{ seen []string }

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	b, err := io.ReadAll(io.LimitReader(q.Body, 1<<16))
	r.seen = append(r.seen, fmt.Sprintf("%s %s %s %d %q %v %v", q.Method, q.RequestURI, q.Host, q.ContentLength, b, err != nil, q.Header))
	w.Header().Set("Content-Length", "0")
}

// FuzzSameRequestsAsNetHTTP feeds the same bytes to this server and to net/http's:
// both must see the same requests, up to one that this server refuses, or framing
// could be read in two ways.
func FuzzSameRequestsAsNetHTTP(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: b\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: 1\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://x/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\nab",
		"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	quiet := log.New(io.Discard, "", 0)
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 8<<10 {
			return // beyond it the two limits on heads differ
		}
		var std, own recorder
		sc := newScript(in)
		ss := &http.Server{Handler: &std, ErrorLog: quiet, MaxHeaderBytes: 32 << 10, DisableGeneralOptionsHandler: true, ReadHeaderTimeout: time.Minute}
		go func() { _ = ss.Serve(listenOnce(sc)) }()
		<-sc.closed
		_ = ss.Close()

		oc := newScript(in)
		newConn(New(Config{Handler: &own, Log: slog.New(slog.DiscardHandler), Now: time.Now, MaxHeadBytes: 32 << 10,
			HeadTimeout: time.Minute, IdleTimeout: time.Minute, DiscardTimeout: time.Second}), oc).serve()

		if strings.Contains(sc.out.String(), "Host header") {
			return // with an absolute target the Host field is not looked at here
		}
		// This server may refuse what net/http takes, never take it for something else.
		same := len(own.seen) <= len(std.seen)
		for i := 0; same && i < len(own.seen); i++ {
			same = own.seen[i] == std.seen[i]
		}
		refused := strings.Contains(oc.out.String(), "Connection: close\r\n\r\n")
		if !same || (len(own.seen) < len(std.seen) && !refused) {
			t.Fatalf("net/http saw\n%s\nthis server saw\n%s\nof %q\nnet/http said %q\nthis server said %q",
				strings.Join(std.seen, "\n"), strings.Join(own.seen, "\n"), in, sc.out.String(), oc.out.String())
		}
	})
}
