package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

var local = Policy{AllowLoopback: true}

func TestARedirectIsTheAnswer(t *testing.T) {
	inside := newCounted(t, nil)
	server := newCounted(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
	})
	resp, err := get(t, Client(local, 0), server.URL)
	if err != nil || resp.StatusCode != http.StatusTemporaryRedirect || inside.conns.Load() != 0 {
		t.Errorf("%v, %v; %d connections to where it leads", resp, err, inside.conns.Load())
	}
}

// The environment is read once for a whole process, so that no test can set it for
// itself alone.
func TestNoProxyIsAsked(t *testing.T) {
	if to := Client(local, 0).Transport.(*guarded).to; to.Proxy != nil {
		t.Error("the transport asks for a proxy, which would do the dialling")
	}
}

func TestAnAnswersBodyIsBounded(t *testing.T) {
	for size, want := range map[int64]error{0: nil, 1: nil, MaxBodyBytes: nil, MaxBodyBytes + 1: ErrTooLarge, 10 * MaxBodyBytes: ErrTooLarge} {
		server := newCounted(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte("x"), int(size)))
		})
		resp, err := get(t, Client(local, 0), server.URL)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if !errors.Is(err, want) || int64(len(got)) != min(size, MaxBodyBytes) {
			t.Errorf("%d bytes: read %d, %v; want %v", size, len(got), err, want)
		}
		if _, err := resp.Body.Read(make([]byte, 8)); want != nil && !errors.Is(err, want) {
			t.Errorf("%d bytes: reading on gives %v; want %v", size, err, want)
		}
	}
}

func TestAnAnswersHeaderIsBounded(t *testing.T) {
	server := newCounted(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", maxHeaderBytes+1))
	})
	if resp, err := get(t, Client(local, 0), server.URL); err == nil {
		t.Errorf("answered %s", resp.Status)
	}
}

func TestTheTimeOfARequestIsBoundedToTheEndOfItsAnswer(t *testing.T) {
	for name, begin := range map[string]bool{"no answer": false, "an answer that does not end": true} {
		server := newCounted(t, func(w http.ResponseWriter, r *http.Request) {
			if begin {
				_, _ = w.Write([]byte("x"))
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
		})
		resp, err := get(t, Client(local, 50*time.Millisecond), server.URL)
		if begin && err == nil {
			_, err = io.ReadAll(resp.Body)
		}
		if !errors.Is(err, context.DeadlineExceeded) && !os.IsTimeout(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for given, want := range map[time.Duration]time.Duration{0: DefaultTimeout, -1: DefaultTimeout, time.Second: time.Second} {
		if got := Client(local, given).Timeout; got != want {
			t.Errorf("a timeout of %s is %s; want %s", given, got, want)
		}
	}
}

// closing says whether a request's body was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

func TestEveryRequestsURLIsJudged(t *testing.T) {
	server := newCounted(t, nil)
	client := Client(Policy{}, 0)
	t.Cleanup(client.CloseIdleConnections)
	for _, target := range []string{
		server.URL, "ftp://holder.example/", "http://u:p@holder.example/", "http://169.254.169.254/", "http://2130706433/", "http://localhost/",
	} {
		body := &closing{Reader: strings.NewReader("x")}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		if !errors.Is(err, ErrTarget) || !body.closed {
			t.Errorf("%s: %v; body closed %t", target, err, body.closed)
		}
	}
	if server.conns.Load() != 0 {
		t.Error("the server was reached")
	}
}

func TestTLSIsVerifiedAgainstTheNameThatWasGiven(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of connections that end early
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	counted := &counted{Server: server}
	for host, trusted := range map[string]bool{"example.com": true, "holder.test": false} {
		d := &Dialer{Policy: local, Resolver: (&script{answers: [][]string{{"127.0.0.1"}}}).resolver(t)}
		_, err := get(t, newClient(d, 0, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}), counted.as(t, host))
		var wrong *tls.CertificateVerificationError
		if trusted && err != nil || !trusted && !errors.As(err, &wrong) {
			t.Errorf("%s: %v; trusted %t", host, err, trusted)
		}
	}
	if _, err := get(t, Client(local, 0), server.URL); err == nil {
		t.Error("a root that nobody trusts is trusted")
	}
}
