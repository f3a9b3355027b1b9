package hmacauth_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend/hmacauth"
)

func TestASignatureIsGoodForOneRequestAlone(t *testing.T) {
	const u = "018f3c1e-7b2a-7c4d-9e5f-0123456789ab"
	type request struct{ method, uri, body string }
	requests := []request{
		{"POST", "/provision", `{"lease_uuid":"` + u + `"}`}, {"POST", "/deprovision", `{"lease_uuid":"` + u + `"}`}, {"PUT", "/provision", `{"lease_uuid":"` + u + `"}`},
		{"POST", "/provision", `{"lease_uuid":"` + u + `"} `}, {"POST", "/provision", ""}, {"POST", "/provision?", ""}, {"post", "/provision", ""},
		{"GET", "/provisions", ""}, {"HEAD", "/provisions", ""}, {"GET", "/provisions/", ""}, {"GET", "/provisions?limit=1", ""}, {"GET", "/provisions?limit=10", ""},
		{"GET", "/provisions?limit=1&continue=" + u, ""}, {"GET", "/provisions?continue=" + u + "&limit=1", ""}, {"GET", "/provisions?Limit=1", ""},
		{"GET", "/provisions/" + u, ""}, {"GET", "/provisions/" + strings.ToUpper(u), ""}, {"GET", "/%70rovisions/" + u, ""}, {"GET", "/info/" + u, ""},
		{"GET", "/info/" + u + "?tail=1", ""}, {"GET", "/info/" + u, "tail=1"},
	}
	v := newVerifier(t, hmacauth.Config{Secrets: []string{secretA}, Now: clock})
	for i, signed := range requests {
		header := hmacauth.Sign(secretA, signed.method, signed.uri, []byte(signed.body), now)
		for j, asked := range requests {
			err := v.Verify(asked.method, asked.uri, []byte(asked.body), header)
			if (i == j) != (err == nil) || err != nil && !errors.Is(err, hmacauth.ErrWrong) {
				t.Errorf("the signature of %q is for %q: %v", signed, asked, err)
			}
		}
	}
	// What is signed has lines: these two would be one text.
	for _, split := range []request{{"GET", "/a\nb", ""}, {"GET\n/a", "b", ""}} {
		if err := v.Verify(split.method, split.uri, nil, hmacauth.Sign(secretA, "GET", "/a\nb", nil, now)); !errors.Is(err, hmacauth.ErrWrong) {
			t.Errorf("%q: %v", split, err)
		}
	}
}

// The signature counts whole seconds, and so does the clock that it is held against.
func TestTheEndsOfTheTimeOfASignature(t *testing.T) {
	header := hmacauth.Sign(secretA, "GET", "/x", nil, now)
	for after, want := range map[time.Duration]error{
		0:                                 nil,
		hmacauth.MaxAge:                   nil,
		hmacauth.MaxAge + time.Second - 1: nil,
		hmacauth.MaxAge + time.Second:     hmacauth.ErrStale,
		24 * time.Hour:                    hmacauth.ErrStale,
		-hmacauth.MaxSkew:                 nil,
		-hmacauth.MaxSkew - 1:             hmacauth.ErrFuture,
		-hmacauth.MaxSkew - time.Second:   hmacauth.ErrFuture,
		-24 * time.Hour:                   hmacauth.ErrFuture,
		-hmacauth.MaxSkew + time.Second/2: nil,
		time.Duration(-1) * 100 * 365 * 24 * 3600: nil, // less than a second
	} {
		v := newVerifier(t, hmacauth.Config{Secrets: []string{secretA}, Now: func() time.Time { return now.Add(after) }})
		// A replay within the time is as good as the first: there is no nonce.
		for range 2 {
			if err := v.Verify("GET", "/x", nil, header); !errors.Is(err, want) {
				t.Errorf("after %v it is %v, want %v", after, err, want)
			}
		}
	}
}

func TestASecretThatWasTakenAwayIsNoneAnyMore(t *testing.T) {
	old, next := hmacauth.Sign(secretA, "GET", "/x", nil, now), hmacauth.Sign(secretB, "GET", "/x", nil, now)
	for _, step := range []struct {
		secrets  []string
		old, new bool
	}{{[]string{secretA}, true, false}, {[]string{secretA, secretB}, true, true}, {[]string{secretB, secretA}, true, true}, {[]string{secretB}, false, true}} {
		v := newVerifier(t, hmacauth.Config{Secrets: step.secrets, Now: clock})
		if got := v.Verify("GET", "/x", nil, old) == nil; got != step.old {
			t.Errorf("with %d secrets the old one is good: %v", len(step.secrets), got)
		}
		if got := v.Verify("GET", "/x", nil, next) == nil; got != step.new {
			t.Errorf("with %d secrets the new one is good: %v", len(step.secrets), got)
		}
	}
}

// wireStatus is what a server that checks signatures answers to bytes.
func wireStatus(t *testing.T, srv *httptest.Server, text string) int {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(conn, text) }() // it may be refused before its end
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.200q: %v", text, err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func TestHeadersThatTwoReadersWouldReadInTwoWays(t *testing.T) {
	v := newVerifier(t, hmacauth.Config{Secrets: []string{secretA}, Now: clock})
	srv := httptest.NewUnstartedServer(v.Middleware(1<<10, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })))
	srv.Config.MaxHeaderBytes = 32 << 10
	srv.Start()
	defer srv.Close()
	good := hmacauth.Sign(secretA, "POST", "/x", []byte("hi"), now)
	bad := hmacauth.Sign(secretB, "POST", "/x", []byte("hi"), now)
	stamp, sum, _ := strings.Cut(good, ",")
	head := func(lines ...string) string {
		return "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n" + strings.Join(lines, "\r\n") + "\r\nConnection: close\r\n\r\nhi"
	}
	const name = hmacauth.Header + ": "
	for what, c := range map[string]struct {
		text string
		code int
	}{
		"one":                              {head(name + good), 204},
		"one in small letters":             {head(strings.ToLower(name) + good), 204},
		"with space around it":             {head(name + " \t" + good + " \t"), 204},
		"none":                             {head("X-A: b"), 401},
		"an empty one":                     {head(name), 401},
		"the same twice":                   {head(name+good, name+good), 401},
		"a good one, then a bad one":       {head(name+good, name+bad), 401},
		"a bad one, then a good one":       {head(name+bad, name+good), 401},
		"an empty one, then a good one":    {head(name, name+good), 401},
		"two, the second in small letters": {head(name+good, strings.ToLower(name)+good), 401},
		"two in one":                       {head(name + good + ", " + good), 401},
		"two in one, a bad one first":      {head(name + bad + ", " + good), 401},
		"two times":                        {head(name + stamp + "," + good), 401},
		"two times, the good one last":     {head(name + "t=1," + good), 401},
		"two sums":                         {head(name + good + "," + sum), 401},
		"a semicolon":                      {head(name + stamp + ";" + sum), 401},
		"quotes":                           {head(name + `"` + good + `"`), 401},
		"a NUL":                            {head(name + good + "\x00"), 400},
		"a name with a space":              {head(hmacauth.Header + " : " + good), 400},
		"another name of the same look":    {head(strings.ReplaceAll(name, "-", "_") + good), 401},
		"in a line that is folded":         {head("X-A: b\r\n "+name+good, "X-B: c"), 401},
		"a huge one":                       {head(name + good + strings.Repeat(" ", 64<<10) + "x"), 431},
		"thousands of others":              {head(name+good, strings.Repeat("X-A: b\r\n", 10_000)+"X-B: c"), 431},
		"two lengths":                      {head(name+good, "Content-Length: 3"), 400},
		"a length and chunks":              {strings.TrimSuffix(head(name+good, "Transfer-Encoding: chunked"), "hi") + "2\r\nhi\r\n0\r\n\r\n", 204}, // the chunks count
		"chunks of another coding":         {head(name+good, "Transfer-Encoding: gzip, chunked"), 501},
		"the signature in the trailer":     {"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: " + hmacauth.Header + "\r\n\r\n2\r\nhi\r\n0\r\n" + name + good + "\r\n\r\n", 401},
		"a whole URL on the request line":  {strings.Replace(head(name+good), "/x", "http://elsewhere/x", 1), 204},
		"another path in such a URL":       {strings.Replace(head(name+good), "/x", "http://elsewhere/y", 1), 401},
		"two slashes":                      {strings.Replace(head(name+good), "/x", "//x", 1), 401},
		"a fragment":                       {strings.Replace(head(name+good), "/x", "/x#y", 1), 401},
		"another method by a header":       {strings.Replace(head(name+good, "X-HTTP-Method-Override: POST"), "POST", "PUT", 1), 401},
	} {
		if got := wireStatus(t, srv, c.text); got != c.code {
			t.Errorf("%s: the answer is %d, want %d", what, got, c.code)
		}
	}
}

// endless is a body that never ends, and counts what is taken of it.
type endless struct{ taken atomic.Int64 }

func (e *endless) Read(into []byte) (int, error) {
	if e.taken.Add(int64(len(into))) > 1<<30 {
		return 0, io.EOF
	}
	clear(into)
	return len(into), nil
}

func TestABodyOfAGibibyteIsTakenToItsBound(t *testing.T) {
	const bound = 1 << 20
	reached := false
	v := newVerifier(t, hmacauth.Config{Secrets: []string{secretA}, Now: clock})
	h := v.Middleware(bound, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	for name, header := range map[string]string{
		"under a header that may be right": hmacauth.Sign(secretA, "POST", "/x", nil, now),
		"under none":                       "",
		"under one that cannot be right":   "t=1,sha256=00",
	} {
		body := new(endless)
		r := httptest.NewRequest("POST", "/x", body)
		r.ContentLength = -1
		r.Header.Set(hmacauth.Header, header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		want, most := 401, int64(0)
		if strings.Contains(name, "may be") {
			want, most = 413, 4*bound // the buffer asks for more than there is room for
		}
		if got := body.taken.Load(); w.Code != want || got > most || reached {
			t.Errorf("%s: the answer is %d, and %d bytes were taken; want %d, and %d", name, w.Code, got, want, most)
		}
	}
	// The same over a connection, where buffers of the system stand between.
	srv := httptest.NewServer(h)
	defer srv.Close()
	body := new(endless)
	req, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+"/x", io.NopCloser(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(hmacauth.Header, hmacauth.Sign(secretA, "POST", "/x", nil, now))
	resp, err := srv.Client().Do(req)
	if err == nil { // else the connection ended while it was written to
		defer resp.Body.Close()
		if resp.StatusCode != 413 {
			t.Errorf("the answer is %d", resp.StatusCode)
		}
	}
	if got := body.taken.Load(); got > 64<<20 || reached {
		t.Errorf("%d bytes were taken of the sender", got)
	}
}

// stalled is a body of which a part comes, and the rest when it is told to.
type stalled struct {
	first io.Reader
	at    func()
	rest  <-chan struct{}
}

func (s *stalled) Read(into []byte) (int, error) {
	if n, err := s.first.Read(into); err == nil {
		return n, nil
	}
	if s.at != nil {
		s.at()
		s.at = nil
	}
	<-s.rest
	return 0, io.EOF
}

func TestStrangersTakeABoundedPartOfTheMemory(t *testing.T) {
	const large, room = 200 << 10, 1 << 20
	v := newVerifier(t, hmacauth.Config{Secrets: []string{secretA}, Now: clock})
	v.HoldAtMost(room)
	var reached atomic.Int64
	h := v.Middleware(large*2, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	ask := func(body io.Reader, sign string) int {
		r := httptest.NewRequest("POST", "/x", body)
		r.ContentLength = -1
		r.Header.Set(hmacauth.Header, hmacauth.Sign(secretA, "POST", "/x", []byte(sign), now))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	goOn := make(chan struct{})
	var all, reading sync.WaitGroup
	var crowded, wrong atomic.Int64
	for range 20 {
		reading.Add(1)
		all.Go(func() {
			done := sync.OnceFunc(reading.Done)
			defer done()
			switch ask(&stalled{first: strings.NewReader(strings.Repeat("x", large)), at: done, rest: goOn}, "another body") {
			case 429:
				crowded.Add(1)
			case 401:
				wrong.Add(1)
			}
		})
	}
	reading.Wait()
	small, big := strings.Repeat("y", 10<<10), strings.Repeat("z", large)
	if got := ask(strings.NewReader(small), small); got != 200 || reached.Load() != 1 {
		t.Errorf("a small request is answered with %d meanwhile", got)
	}
	if got := ask(strings.NewReader(big), big); got != 429 {
		t.Errorf("a large one is answered with %d", got)
	}
	close(goOn)
	all.Wait()
	if most := int64(room/(large-64<<10)) + 1; wrong.Load() > most || wrong.Load()+crowded.Load() != 20 {
		t.Errorf("%d large bodies were read at once, %d were not, and there is room for %d", wrong.Load(), crowded.Load(), most)
	}
	if got := ask(strings.NewReader(big), big); got != 200 {
		t.Errorf("a large request is answered with %d once they are gone", got)
	}
}

func TestABodyThatDripsEndsWithTheTimeOfTheServer(t *testing.T) {
	v := newVerifier(t, hmacauth.Config{Secrets: []string{secretA}, Now: clock})
	reached := false
	srv := httptest.NewUnstartedServer(v.Middleware(1<<20, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true })))
	srv.Config.ReadTimeout = 200 * time.Millisecond
	srv.Start()
	defer srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n%s: %s\r\n\r\nx", hmacauth.Header, hmacauth.Sign(secretA, "POST", "/x", nil, now))
	if err != nil {
		t.Fatal(err)
	}
	ended := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer ended()
	answer, err := io.ReadAll(conn)
	if ctx.Err() != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") || reached {
		t.Errorf("the answer is %q, %v", answer, err)
	}
}
