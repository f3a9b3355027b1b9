package backendd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/netutil"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/server"
	"github.com/berth-cloud/berth/internal/daemon/backendd/settings"
)

const pipeSecret = "0123456789abcdef0123456789abcdef"

// pipes is a listener without a network, whose time is that of the test.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	ended chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), ended: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.ended) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial is nil where nobody accepts within a second.
func (p *pipes) dial() net.Conn {
	mine, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return mine
	case <-time.After(time.Second):
		mine.Close()
		theirs.Close()
		return nil
	}
}

// served runs the server as a backend does, over pipes, until the test ends.
func served(t *testing.T) *pipes {
	t.Helper()
	v, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{pipeSecret}})
	if err != nil {
		t.Fatal(err)
	}
	mock := backend.NewMockBackend(backend.MockBackendConfig{Name: "mock"})
	b := &backendd{set: &settings.Settings{}, logger: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	l, ended := newPipes(), make(chan error, 1)
	go func() {
		ended <- b.listen(ctx, netutil.LimitListener(l, maxConns), &http.Server{Handler: server.New(mock, server.Config{Auth: v}), ReadHeaderTimeout: headerTimeout})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l
}

// until reads what a connection says to its end, and how long that took.
func until(conn net.Conn) (said string, took time.Duration) {
	began := time.Now()
	text, _ := io.ReadAll(conn)
	return string(text), time.Since(began)
}

func TestAConnectionThatDripsEnds(t *testing.T) {
	signed := func(length int) string {
		return fmt.Sprintf("POST /provision HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%s: %s\r\n\r\n", length, hmacauth.Header, hmacauth.Sign(pipeSecret, "POST", "/provision", nil, time.Now()))
	}
	for name, c := range map[string]struct {
		head string
		unit string
		most time.Duration
		says string
	}{
		"nothing comes":           {"", "", headerTimeout, ""},
		"the request line drips":  {"", "G", headerTimeout, ""},
		"the headers drip":        {"GET /health HTTP/1.1\r\n", "X-A: b\r\n", headerTimeout, ""},
		"the body drips":          {"signed", "x", readTimeout, "HTTP/1.1 400 "},
		"the body does not come":  {"signed", "", readTimeout, "HTTP/1.1 400 "},
		"a body nobody asked for": {"GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n", "", readTimeout, "HTTP/1.1 200 "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := served(t).dial()
				var writing sync.WaitGroup
				defer writing.Wait()
				defer conn.Close()
				head := c.head
				if head == "signed" {
					head = signed(1 << 20)
				}
				writing.Go(func() {
					_, err := io.WriteString(conn, head)
					for err == nil && c.unit != "" {
						<-time.After(time.Second)
						_, err = io.WriteString(conn, c.unit)
					}
				})
				said, took := until(conn)
				if took > c.most+2*time.Second || !strings.HasPrefix(said, c.says) {
					t.Errorf("it ended after %v with %q", took, said)
				}
			})
		})
	}
}

func TestAConnectionThatAsksNoMoreEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := served(t).dial()
		defer conn.Close()
		go func() { _, _ = io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: a\r\n\r\n") }()
		said, took := until(conn)
		if !strings.HasPrefix(said, "HTTP/1.1 200 ") || took > idleTimeout+time.Second {
			t.Errorf("it ended after %v with %q", took, said)
		}
	})
}

func TestAnAnswerThatNobodyTakesEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := served(t).dial()
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-time.After(writeTimeout + time.Second) // nothing is read meanwhile
		if said, _ := until(conn); strings.Contains(said, "healthy") {
			t.Errorf("it waited, and said %q", said)
		}
	})
}

func TestHugeHeadersAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := served(t)
		for name, head := range map[string]string{
			"one header":    "X-A: " + strings.Repeat("x", 1<<20) + "\r\n",
			"many headers":  strings.Repeat("X-A: b\r\n", 100_000),
			"a long target": "",
		} {
			conn := l.dial()
			target := "/health"
			if head == "" {
				target += "?" + strings.Repeat("x", 1<<20)
			}
			go func() { _, _ = io.WriteString(conn, "GET "+target+" HTTP/1.1\r\nHost: a\r\n"+head+"\r\n") }()
			said, took := until(conn)
			conn.Close()
			if !strings.HasPrefix(said, fmt.Sprintf("HTTP/1.1 %d ", http.StatusRequestHeaderFieldsTooLarge)) || took > headerTimeout {
				t.Errorf("%s: it ended after %v with %q", name, took, said)
			}
		}
	})
}

// Strangers who hold every connection hold them for as long as their headers may take.
func TestAHouseFullOfStrangersEmptiesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := served(t)
		var held []net.Conn
		for range maxConns {
			conn := l.dial()
			if conn == nil {
				t.Fatalf("%d connections are held", len(held))
			}
			held = append(held, conn)
		}
		if l.dial() != nil {
			t.Error("one more is accepted")
		}
		<-time.After(headerTimeout)
		conn := l.dial()
		if conn == nil {
			t.Fatal("nobody is accepted any more")
		}
		go func() { _, _ = io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") }()
		if said, _ := until(conn); !strings.HasPrefix(said, "HTTP/1.1 200 ") {
			t.Errorf("it says %q", said)
		}
		conn.Close()
		for _, c := range held {
			c.Close()
		}
	})
}
