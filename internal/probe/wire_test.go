package probe

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a dialer whose connections lead to a function in the same process,
// so that time may be virtual.
type pipes struct {
	delay time.Duration // until a connection is made
	peer  func(conn net.Conn)
}

func (p pipes) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	timer := time.NewTimer(p.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ours, theirs := net.Pipe()
	go func() {
		defer func() { _ = theirs.Close() }()
		p.peer(theirs)
	}()
	return ours, nil
}

func silent(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// says reads the request and answers with raw bytes, then waits for the end.
func says(raw string) func(net.Conn) {
	return func(conn net.Conn) {
		buffer := make([]byte, 4096)
		if _, err := conn.Read(buffer); err != nil {
			return
		}
		_, _ = io.WriteString(conn, raw)
		silent(conn)
	}
}

func TestAProbeEndsWithItsTimeout(t *testing.T) {
	for name, tc := range map[string]struct {
		dialer Dialer
		kind   Kind
		says   string
	}{
		"http, no connection":  {pipes{delay: time.Hour}, HTTP, "did not answer within 3s: no connection was made"},
		"tcp, no connection":   {pipes{delay: time.Hour}, TCP, "did not answer within 3s: no connection was made"},
		"http, no answer":      {pipes{peer: silent}, HTTP, "did not answer within 3s: it took the connection"},
		"http, half an answer": {pipes{peer: says("HTTP/1.1 200 OK\r\nX-A: b")}, HTTP, "did not answer within 3s: it took the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				r := Run(t.Context(), tc.dialer, Spec{Kind: tc.kind, Address: "10.5.0.7:80", Timeout: 3 * time.Second})
				if took := time.Since(began); took != 3*time.Second || r.Latency != took || r.OK {
					t.Errorf("after %s: %+v", took, r)
				}
				wantSays(t, r, tc.says)
			})
		})
	}
}

func TestWithoutATimeoutTheLimitsOneHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Spec{Kind: TCP, Address: "10.5.0.7:80"}
		if r := Run(t.Context(), pipes{delay: time.Hour}, s); r.Latency != 2*time.Second {
			t.Errorf("it took %s, want the default", r.Latency)
		}
		r := Limits{Timeout: time.Minute}.Run(t.Context(), pipes{delay: time.Hour}, s)
		if r.Latency != time.Minute {
			t.Errorf("it took %s, want the limit", r.Latency)
		}
	})
}

func TestTheCallersContextCutsAProbeShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, kind := range []Kind{HTTP, TCP} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			r := Run(ctx, pipes{delay: time.Hour}, Spec{Kind: kind, Address: "10.5.0.7:80", Timeout: time.Minute})
			cancel()
			if r.OK || r.Latency != time.Second {
				t.Errorf("%s: %+v", kind, r)
			}
			wantSays(t, r, "cut short after 1s")
		}
	})
}

func TestABodyThatStallsCostsNoMoreThanTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := pipes{peer: says("HTTP/1.1 503 Busy\r\nContent-Length: 9999\r\n\r\nwarming up")}
		r := Run(t.Context(), d, Spec{Kind: HTTP, Address: "10.5.0.7:80", Timeout: 3 * time.Second})
		if r.Status != 503 || r.Latency != 3*time.Second || r.Body != "warming up" {
			t.Errorf("%+v", r)
		}
		d.peer = says("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\nwarming up")
		if r := Run(t.Context(), d, Spec{Kind: HTTP, Address: "10.5.0.7:80"}); !r.OK || r.Latency != 0 {
			t.Errorf("a status that passes waited for its body: %+v", r)
		}
	})
}

func TestAnswersThatAreNotHTTP(t *testing.T) {
	for name, tc := range map[string]struct {
		peer func(net.Conn)
		says string
	}{
		"another protocol": {says("SSH-2.0-OpenSSH_9.9\r\n"), "answered, but not with HTTP"},
		"closes":           {func(net.Conn) {}, "closed the connection without an answer"},
		"endless header":   {endless, "could not be asked"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := Run(t.Context(), pipes{peer: tc.peer}, Spec{Kind: HTTP, Address: "10.5.0.7:80"})
				if r.OK || r.Err == nil || r.Latency != 0 {
					t.Errorf("%+v", r)
				}
				wantSays(t, r, tc.says)
			})
		})
	}
}

// endless answers with a header that has no end.
func endless(conn net.Conn) {
	_, _ = conn.Read(make([]byte, 4096))
	_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
	for err == nil {
		_, err = io.WriteString(conn, "X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")
	}
}

func TestAPortThatTakesConnectionsPassesATCPProbe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	s := Spec{Kind: TCP, Address: l.Addr().String(), Timeout: 10 * time.Second}
	r := Run(t.Context(), &net.Dialer{}, s)
	if !r.OK || !r.Connected || r.Err != nil {
		t.Errorf("%+v", r)
	}
	wantSays(t, r, "tcp://"+s.Address+" took a connection")
}

func TestTLS(t *testing.T) {
	quiet := log.New(io.Discard, "", 0)
	secure := httptest.NewUnstartedServer(answer(http.StatusOK, ""))
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	defer secure.Close()
	plain := serve(t, answer(http.StatusOK, ""))
	for name, tc := range map[string]struct {
		server *httptest.Server
		change func(*Spec)
		ok     bool
		says   string
	}{
		"unknown authority": {secure, func(s *Spec) { s.Scheme = "https" }, false, "certificate that cannot be trusted"},
		"skipped":           {secure, func(s *Spec) { s.Scheme, s.SkipVerify = "https", true }, true, "GET https://"},
		"plain port":        {plain, func(s *Spec) { s.Scheme = "https" }, false, "its scheme is http"},
		"TLS port":          {secure, func(*Spec) {}, false, "answered 400"},
	} {
		t.Run(name, func(t *testing.T) {
			s := at(tc.server)
			tc.change(&s)
			r := Run(t.Context(), &net.Dialer{}, s)
			if r.OK != tc.ok {
				t.Errorf("%+v", r)
			}
			wantSays(t, r, tc.says)
		})
	}
}

func TestAProbeKeepsNoConnection(t *testing.T) {
	closed := make(chan struct{}, 8)
	server := httptest.NewUnstartedServer(answer(http.StatusOK, "fine"))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.Start()
	defer server.Close()
	d := &counting{want: server.Listener.Addr().String()}
	for range 3 {
		if r := Run(t.Context(), d, at(server)); !r.OK {
			t.Fatal(r.Explain())
		}
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			t.Fatal("the connection stays open")
		}
	}
	if n := d.dials.Load(); n != 3 {
		t.Errorf("3 probes made %d connections", n)
	}
}
