package probe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

// counting is a dialer that remembers what it was asked for.
type counting struct {
	net.Dialer
	dials     atomic.Int32
	elsewhere atomic.Bool
	want      string
}

func (c *counting) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c.dials.Add(1)
	if address != c.want {
		c.elsewhere.Store(true)
	}
	return c.Dialer.DialContext(ctx, network, address)
}

// failing is a dialer that cannot.
type failing struct{ err error }

func (f failing) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: f.err}
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

func at(s *httptest.Server) Spec {
	return Spec{Kind: HTTP, Address: s.Listener.Addr().String(), Timeout: 10 * time.Second}
}

func wantSays(t *testing.T, r Result, parts ...string) {
	t.Helper()
	text := r.Explain()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the explanation does not say %q: %s", part, text)
		}
	}
	if strings.ContainsAny(text, "\n\r") {
		t.Errorf("the explanation is not one line: %q", text)
	}
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestTheStatusDecides(t *testing.T) {
	some, err := ParseStatusRanges("200,404")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		status   int
		expected Ranges
		want     bool
	}{
		{200, nil, true}, {299, nil, true}, {300, nil, false}, {404, nil, false}, {503, nil, false},
		{200, some, true}, {404, some, true}, {299, some, false},
	} {
		s := at(serve(t, answer(tc.status, "starting\nup")))
		s.Expected = tc.expected
		r := Run(t.Context(), &net.Dialer{}, s)
		if r.OK != tc.want || r.Status != tc.status || r.Err != nil || !r.Connected {
			t.Errorf("%d of %s: %+v", tc.status, tc.expected, r)
		}
		if tc.want {
			wantSays(t, r, "GET http://"+s.Address+"/", "answered")
		} else {
			wantSays(t, r, "GET http://"+s.Address+"/", "expected "+tc.expected.String(), `"starting up"`)
		}
	}
}

func TestTheRequestIsWhatTheSpecSays(t *testing.T) {
	var got *http.Request
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r })
	s := at(server)
	s.Host, s.Path = "shop.example", "ready?deep=1"
	if r := Run(t.Context(), &net.Dialer{}, s); !r.OK {
		t.Fatal(r.Explain())
	} else if wantSays(t, r, s.Address+"/ready?deep=1", "(Host shop.example)"); r.Latency <= 0 {
		t.Errorf("the latency is %s", r.Latency)
	}
	if got.Method != http.MethodGet || got.Host != "shop.example" || got.URL.RequestURI() != "/ready?deep=1" || !got.Close {
		t.Errorf("the server got %s %s for %s, close %t", got.Method, got.URL.RequestURI(), got.Host, got.Close)
	}
}

func TestRedirectsToTheSameHostAreFollowedUpToTheLimit(t *testing.T) {
	for limit, want := range map[int]bool{3: true, 0 /* ten */ : true, 2: false, 1: false, -1: false} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Host != "shop.example" {
				t.Errorf("asked for host %s", r.Host)
			}
			if n := len(r.URL.Path); n < 4 { // "/", "/x", "/xx" lead on
				http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
			}
		})
		s := at(server)
		s.Host = "shop.example"
		d := &counting{want: s.Address}
		r := Limits{MaxRedirects: limit}.Run(t.Context(), d, s)
		if r.OK != want {
			t.Errorf("limit %d: %s", limit, r.Explain())
		}
		if limit > 0 && !want {
			wantSays(t, r, "more than", "redirects", "http://shop.example/")
			if n := int(d.dials.Load()); n != limit+1 {
				t.Errorf("limit %d: %d requests", limit, n)
			}
		}
	}
}

func TestARedirectElsewhereIsNotFollowed(t *testing.T) {
	for _, to := range []string{"http://169.254.169.254/latest", "https://shop.example/", "http://shop.example:81/", "//other.example/"} {
		s := at(serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusMovedPermanently)
		}))
		s.Host = "shop.example"
		d := &counting{want: s.Address}
		r := Run(t.Context(), d, s)
		if r.OK || r.Status != http.StatusMovedPermanently || r.Redirect == "" {
			t.Errorf("to %s: %+v", to, r)
		}
		if d.dials.Load() != 1 || d.elsewhere.Load() {
			t.Errorf("to %s: %d connections, elsewhere: %t", to, d.dials.Load(), d.elsewhere.Load())
		}
		wantSays(t, r, "answered 301, a redirect to "+r.Redirect, "expected 200-299")
	}
}

func TestAnExpectedRedirectIsTheAnswer(t *testing.T) {
	s := at(serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }))
	s.Expected = Ranges{{From: 200, To: 399}}
	d := &counting{want: s.Address}
	if r := Run(t.Context(), d, s); !r.OK || r.Status != http.StatusFound || d.dials.Load() != 1 {
		t.Errorf("%+v after %d connections", r, d.dials.Load())
	}
}

func TestTheBodyIsBoundedAndReadable(t *testing.T) {
	s := at(serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		for r.Context().Err() == nil { // never ends by itself
			if _, err := w.Write([]byte("é\x00\x1b[31m\xff")); err != nil {
				return
			}
		}
	}))
	r := Run(t.Context(), &net.Dialer{}, s)
	if n := len(r.Body); n == 0 || n > 512 {
		t.Errorf("%d bytes of the body are kept", n)
	}
	if strings.ContainsAny(r.Body, "\x00\x1b\uFFFD") || !utf8.ValidString(r.Body) {
		t.Errorf("the body is kept as it came: %q", r.Body)
	}
	if n := len(r.Explain()); n > 800 {
		t.Errorf("the explanation has %d bytes", n)
	}
}

func TestFailuresSayWhatToLookAt(t *testing.T) {
	const address = "10.5.0.7:8080"
	for name, tc := range map[string]struct {
		spec Spec
		err  error
		says []string
	}{
		"refused":      {Spec{Kind: HTTP}, syscall.ECONNREFUSED, []string{"http://" + address + "/", "nothing listens", "0.0.0.0"}},
		"refused tcp":  {Spec{Kind: TCP}, syscall.ECONNREFUSED, []string{"tcp://" + address, "nothing listens"}},
		"no route":     {Spec{Kind: TCP}, syscall.EHOSTUNREACH, []string{"no route"}},
		"reset":        {Spec{Kind: HTTP}, syscall.ECONNRESET, []string{"closed the connection without an answer"}},
		"something":    {Spec{Kind: TCP}, errors.New("node n1 is away"), []string{"could not be asked: node n1 is away"}},
		"kernel's own": {Spec{Kind: TCP}, syscall.ETIMEDOUT, []string{"did not answer within 2s", "no connection was made"}},
		"bad path":     {Spec{Kind: HTTP, Path: "/%zz"}, nil, []string{"could not be asked", "path"}},
		"bad scheme":   {Spec{Kind: HTTP, Scheme: "ftp"}, nil, []string{`"ftp" is neither http nor https`}},
		"bad kind":     {Spec{Kind: "exec"}, nil, []string{`"exec" is no kind of probe`}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.spec.Address = address
			r := Run(t.Context(), failing{tc.err}, tc.spec)
			if r.OK || r.Err == nil || r.Connected {
				t.Errorf("%+v", r)
			}
			wantSays(t, r, tc.says...)
		})
	}
}
