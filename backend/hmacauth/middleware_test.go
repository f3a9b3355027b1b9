package hmacauth_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/berth-cloud/berth/backend/hmacauth"
)

// echo answers with the body that it reads.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil || int64(len(b)) != r.ContentLength {
		w.WriteHeader(http.StatusTeapot)
	}
	_, _ = w.Write(b)
})

func TestMiddleware(t *testing.T) {
	const bound = 16
	sign := func(method, uri, body string) string {
		return hmacauth.Sign(secretA, method, uri, []byte(body), now)
	}
	full := strings.Repeat("x", bound)
	tests := []struct {
		name, method, uri, body, header string
		unsized                         bool
		status                          int
		answer                          string
		told                            error
	}{
		{"a signed body is handed on", "POST", "/update", "hello", sign("POST", "/update", "hello"), false, 200, "hello", nil},
		{"so is one without a length", "POST", "/update", "hello", sign("POST", "/update", "hello"), true, 200, "hello", nil},
		{"and one without a body", "GET", "/provisions?limit=2", "", sign("GET", "/provisions?limit=2", ""), false, 200, "", nil},
		{"a path is taken as it was sent", "GET", "/info/%2e%61?", "", sign("GET", "/info/%2e%61?", ""), false, 200, "", nil},
		{"a body up to the bound", "POST", "/update", full, sign("POST", "/update", full), true, 200, full, nil},
		{"without a signature", "POST", "/update", "hello", "", false, 401, `{"error":"missing signature"}`, hmacauth.ErrMissing},
		{"with a malformed one", "POST", "/update", "hello", "t=1", false, 401, `{"error":"invalid signature"}`, hmacauth.ErrMalformed},
		{"with one of another endpoint", "POST", "/update", "hello", sign("POST", "/restart", "hello"), false, 401, `{"error":"invalid signature"}`, hmacauth.ErrWrong},
		{"with a stale one", "GET", "/x", "", hmacauth.Sign(secretA, "GET", "/x", nil, now.Add(-hmacauth.MaxAge*2)), false, 401, `{"error":"invalid signature"}`, hmacauth.ErrStale},
		{"with one of the future", "GET", "/x", "", hmacauth.Sign(secretA, "GET", "/x", nil, now.Add(hmacauth.MaxSkew*2)), false, 401, `{"error":"invalid signature"}`, hmacauth.ErrFuture},
		{"with a body that says it is too large", "POST", "/update", full + "x", sign("POST", "/update", full+"x"), false, 413, `{"error":"request body too large"}`, nil},
		{"with a body that is too large", "POST", "/update", full + "x", sign("POST", "/update", full+"x"), true, 413, `{"error":"request body too large"}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var told error
			v := newVerifier(t, hmacauth.Config{
				Secrets: []string{secretA}, Now: clock,
				Refused: func(_ *http.Request, err error) { told = err },
			})
			r := httptest.NewRequest(tt.method, tt.uri, strings.NewReader(tt.body))
			if tt.unsized {
				r.ContentLength = -1
			}
			if tt.header != "" {
				r.Header.Set(hmacauth.Header, tt.header)
			}
			w := httptest.NewRecorder()
			v.Middleware(bound, echo).ServeHTTP(w, r)
			if got := strings.TrimSpace(w.Body.String()); w.Code != tt.status || got != tt.answer {
				t.Errorf("the answer is %d %s, want %d %s", w.Code, got, tt.status, tt.answer)
			}
			if tt.status != 200 && w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("the refusal is %q", w.Header().Get("Content-Type"))
			}
			if (told != nil) != (tt.status != 200) || (tt.told != nil && !errors.Is(told, tt.told)) {
				t.Errorf("the operator is told %v, want %v", told, tt.told)
			}
		})
	}
}

func TestABodyIsNotReadForAHeaderThatCannotBeRight(t *testing.T) {
	v := newVerifier(t, hmacauth.Config{Secrets: []string{secretA}, Now: clock})
	for _, header := range []string{"", "t=1,sha256=0", hmacauth.Sign(secretA, "POST", "/", nil, now.Add(-hmacauth.MaxAge*2))} {
		body := &counting{Reader: strings.NewReader("hello")}
		r := httptest.NewRequest("POST", "/", body)
		r.Header.Set(hmacauth.Header, header)
		w := httptest.NewRecorder()
		v.Middleware(100, echo).ServeHTTP(w, r)
		if w.Code != 401 || body.read {
			t.Errorf("%q: the answer is %d, and the body was read: %v", header, w.Code, body.read)
		}
	}
}

type counting struct {
	io.Reader
	read bool
}

func (c *counting) Read(p []byte) (int, error) {
	c.read = true
	return c.Reader.Read(p)
}

func TestABodyThatBreaksOffIsNoMatterOfItsSignature(t *testing.T) {
	v := newVerifier(t, hmacauth.Config{Secrets: []string{secretA}, Now: clock})
	r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("hel"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	r.Header.Set(hmacauth.Header, hmacauth.Sign(secretA, "POST", "/", []byte("hel"), now))
	w := httptest.NewRecorder()
	v.Middleware(100, echo).ServeHTTP(w, r)
	if w.Code != 400 {
		t.Errorf("the answer is %d %s, want 400", w.Code, w.Body)
	}
}

func TestASignedRequestPassesAServer(t *testing.T) {
	v := newVerifier(t, hmacauth.Config{Secrets: []string{secretA}, PathPrefix: "", Now: clock})
	// The prefix is stripped before the signature is seen, and signed all the same.
	srv := httptest.NewServer(http.StripPrefix("/deep", v.Middleware(100, echo)))
	defer srv.Close()
	key, err := hmacauth.NewKey(secretA)
	if err != nil {
		t.Fatal(err)
	}
	body := []byte("hello")
	req, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+"/deep/a b/ü?q=%20&r", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	key.SignRequest(req, body, now)
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); resp.StatusCode != 200 || string(got) != "hello" {
		t.Errorf("the answer is %d %s %v", resp.StatusCode, got, err)
	}
}
