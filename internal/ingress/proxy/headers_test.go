package proxy

import (
	"fmt"
	"net/http"
	"net/netip"
	"sort"
	"strings"
	"testing"
)

// showHeaders is a backend that answers what it got, sorted.
func showHeaders(t testing.TB) string {
	return backend(t, func(w http.ResponseWriter, r *http.Request) {
		var lines []string
		for k, vv := range r.Header {
			for _, v := range vv {
				lines = append(lines, k+": "+v)
			}
		}
		sort.Strings(lines)
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprintf(w, "Host: %s\n%s\n", r.Host, strings.Join(lines, "\n"))
	})
}

func has(t *testing.T, got reply, line string) {
	t.Helper()
	if !strings.Contains(got.body, line+"\n") {
		t.Errorf("the target did not get %q, but:\n%s", line, got.body)
	}
}

func lacks(t *testing.T, got reply, part string) {
	t.Helper()
	if strings.Contains(got.body, part) {
		t.Errorf("the target got %q:\n%s", part, got.body)
	}
}

func TestTheTargetLearnsOfTheClientFromUsAlone(t *testing.T) {
	r := newRig(t, nil)
	r.serve(showHeaders(t))
	req := r.request(http.MethodGet, "/", nil)
	req.Host = "App.Test:81"
	for _, k := range []string{"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port", "X-Real-Ip", "Forwarded", "X-Request-Id", "X_Forwarded_For", "x-forwarded_proto", "X_Real_IP"} {
		req.Header[k] = []string{"forged"}
	}
	req.Header.Set("X-Other", "kept")
	got := r.do(req)
	lacks(t, got, "forged")
	has(t, got, "Host: App.Test:81")
	has(t, got, "X-Forwarded-For: 127.0.0.1")
	has(t, got, "X-Forwarded-Proto: http")
	has(t, got, "X-Forwarded-Host: App.Test:81")
	has(t, got, "X-Other: kept")
	if strings.Count(got.body, "X-Request-Id: ") != 1 {
		t.Errorf("no single request id:\n%s", got.body)
	}
	if again := r.do(r.request(http.MethodGet, "/", nil)); idOf(again) == idOf(got) {
		t.Errorf("two requests have the id %q", idOf(got))
	}
}

func idOf(got reply) string {
	_, rest, _ := strings.Cut(got.body, "X-Request-Id: ")
	id, _, _ := strings.Cut(rest, "\n")
	return id
}

func TestATrustedProxyIsBelieved(t *testing.T) {
	r := newRig(t, func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	r.serve(showHeaders(t))
	req := r.request(http.MethodGet, "/", nil)
	req.Header = http.Header{
		"X-Forwarded-For":   {"203.0.113.7", "198.51.100.2"},
		"X-Forwarded-Proto": {"https"},
		"X-Forwarded-Host":  {"public.test"},
		"X-Request-Id":      {"from-the-front"},
		"X-Real-Ip":         {"203.0.113.7"},
	}
	got := r.do(req)
	has(t, got, "X-Forwarded-For: 203.0.113.7, 198.51.100.2, 127.0.0.1")
	has(t, got, "X-Forwarded-Proto: https")
	has(t, got, "X-Forwarded-Host: public.test")
	has(t, got, "X-Request-Id: from-the-front")
	has(t, got, "X-Real-Ip: 203.0.113.7")
}

func TestHeadersOfOneConnectionAreNotPassedOn(t *testing.T) {
	r := newRig(t, nil)
	r.serve(showHeaders(t))
	got := r.raw().send("GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close, X-Secret, x-forwarded-for\r\nX-Secret: s\r\n" +
		"Keep-Alive: 5\r\nProxy-Connection: x\r\nProxy-Authorization: p\r\nTE: trailers, deflate\r\nUpgrade: h2c\r\n\r\n").response("GET")
	for _, k := range []string{"Connection", "X-Secret", "Keep-Alive", "Proxy-", "Upgrade", "deflate"} {
		lacks(t, got, k)
	}
	has(t, got, "Te: trailers")
	has(t, got, "X-Forwarded-For: 127.0.0.1") // ours cannot be named away
}

func TestHeadersOfTheTargetsConnectionAreNotPassedOn(t *testing.T) {
	r := newRig(t, nil)
	r.serve(backend(t, func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Connection", "X-Hop")
		h.Set("X-Hop", "h")
		h.Set("Keep-Alive", "timeout=5")
		h.Set("Proxy-Authenticate", "Basic")
		h.Set("X-Kept", "k")
		h["Set-Cookie"] = []string{"a=1", "b=2"}
	}))
	got := r.get("/")
	for _, k := range []string{"X-Hop", "Keep-Alive", "Proxy-Authenticate", "Connection"} {
		if v := got.Header.Get(k); v != "" {
			t.Errorf("the client got %s: %s", k, v)
		}
	}
	if got.Header.Get("X-Kept") != "k" || len(got.Header["Set-Cookie"]) != 2 {
		t.Errorf("headers were lost: %v", got.Header)
	}
}

func TestNothingIsAddedToAResponse(t *testing.T) {
	r := newRig(t, nil)
	r.serve(wireOnce(t, "HTTP/1.1 200 Fine\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\nContent-Length: 6\r\n\r\n<html>"))
	got := r.get("/")
	if len(got.Header) != 2 || got.Header.Get("Date") != "Mon, 02 Jan 2006 15:04:05 GMT" || got.body != "<html>" {
		t.Errorf("the client got %v %q", got.Header, got.body)
	}
}
