package proxy

import (
	"net/http"
	"strings"
	"testing"
)

func TestRequestsAreRoutedByHostAndLongestPath(t *testing.T) {
	r := newRig(t, nil)
	b := func(name string) string { return backend(t, says(name)) }
	r.swap(
		routeTo("root", "app.test", "/", targets(b("root"))...),
		routeTo("api", "app.test", "/api", targets(b("api"))...),
		routeTo("v2", "app.test", "/api/v2/", targets(b("v2"))...),
		routeTo("other", "other.test", "/only", targets(b("other"))...),
	)
	for _, c := range []struct{ host, path, want string }{
		{"app.test", "/", "root"},
		{"app.test", "/x", "root"},
		{"app.test", "/api", "api"},
		{"app.test", "/api?x=/api/v2", "api"},
		{"app.test", "/api/", "api"},
		{"app.test", "/api/v1", "api"},
		{"app.test", "/api/v2", "v2"},
		{"app.test", "/api/v2/", "v2"},
		{"app.test", "/api/v22", "api"},
		{"app.test", "/apix", "root"},
		{"APP.Test", "/api", "api"},
		{"app.test:8443", "/api", "api"},
		{"app.test.", "/api", "api"},
		{"other.test", "/only/this", "other"},
		{"other.test", "/", ""},
		{"sub.app.test", "/", ""},
		{"nobody.test", "/", ""},
	} {
		req := r.request(http.MethodGet, c.path, nil)
		req.Host = c.host
		got := r.do(req)
		switch {
		case c.want == "" && got.StatusCode != http.StatusNotFound:
			t.Errorf("%s%s: status %d, want 404", c.host, c.path, got.StatusCode)
		case c.want != "" && got.body != c.want:
			t.Errorf("%s%s went to %q, want %q", c.host, c.path, got.body, c.want)
		}
	}
}

func TestAnUnknownHostGetsAStyledPageOrText(t *testing.T) {
	r := newRig(t, nil)
	req := r.request(http.MethodGet, "/", nil)
	req.Header.Set("Accept", "text/html,*/*")
	got := r.do(req)
	if got.StatusCode != 404 || !strings.Contains(got.body, "<h1>Not found</h1>") || got.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("a browser got %d %s %q", got.StatusCode, got.Header.Get("Content-Type"), got.body)
	}
	got = r.get("/")
	if got.StatusCode != 404 || strings.Contains(got.body, "<") {
		t.Errorf("a program got %d %q, want 404 and plain text", got.StatusCode, got.body)
	}
}

func TestTheChallengePathComesBeforeEveryRoute(t *testing.T) {
	const path = "/.well-known/acme-challenge/token"
	r := newRig(t, nil)
	r.serve(backend(t, says("app")))
	if got := r.get(path); got.StatusCode != 404 {
		t.Errorf("without a handler: %d %q, want our 404", got.StatusCode, got.body)
	}
	r = newRig(t, func(c *Config) { c.ACME = says("key") })
	r.serve(backend(t, says("app")))
	if got := r.get(path); got.body != "key" {
		t.Errorf("with a handler: %q, want key", got.body)
	}
}

func TestTheRequestTargetIsPassedOnAsItWasSpelled(t *testing.T) {
	r := newRig(t, nil)
	r.serve(backend(t, func(w http.ResponseWriter, q *http.Request) { says(q.Method+" "+q.RequestURI+" "+q.Host)(w, q) }))
	for sent, want := range map[string]string{
		"GET /a%2Fb//c/../d?x=%20&&y HTTP/1.1\r\nHost: App.test:81": "GET /a%2Fb//c/../d?x=%20&&y App.test:81",
		"GET http://app.test/abs?q HTTP/1.1\r\nHost: ignored.test":  "GET /abs?q app.test",
		"OPTIONS * HTTP/1.1\r\nHost: app.test":                      "OPTIONS * app.test",
		"PURGE /x HTTP/1.1\r\nHost: app.test":                       "PURGE /x app.test",
	} {
		got := r.raw().send(sent + "\r\n\r\n").response("GET")
		if sent[:7] == "OPTIONS" {
			// The backend's own server answers OPTIONS * itself, with 200.
			if got.StatusCode != 200 {
				t.Errorf("%q: status %d", sent, got.StatusCode)
			}
			continue
		}
		if got.body != want {
			t.Errorf("%q arrived as %q, want %q", sent, got.body, want)
		}
	}
}

func TestConnectIsRefused(t *testing.T) {
	r := newRig(t, nil)
	r.serve(backend(t, says("app")))
	if got := r.raw().send("CONNECT app.test:80 HTTP/1.1\r\nHost: app.test:80\r\n\r\n").response("GET"); got.StatusCode != 405 {
		t.Errorf("status %d, want 405", got.StatusCode)
	}
}
