package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/server"
)

const localLease = "018f3c1e-7b2a-7c4d-9e5f-0123456789ab"

// localReads are what an operator may ask without a signature.
var localReads = []string{
	"/info/" + localLease, "/provisions", "/provisions/" + localLease, "/logs/" + localLease, "/releases/" + localLease, "/retentions", "/health", "/stats",
}

// overUnix serves a handler on a socket and returns a client of it.
func overUnix(t *testing.T, h http.Handler) *http.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(h)
	_ = srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	t.Cleanup(srv.Close)
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
}

func request(t *testing.T, c *http.Client, method, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestALocalHandlerReadsWithoutASignature(t *testing.T) {
	b := &scripted{info: &backend.LeaseInfo{Host: "h"}, provisions: []backend.ProvisionInfo{{LeaseUUID: localLease}}}
	c := overUnix(t, server.LocalHandler(b, server.Config{}))
	for _, path := range localReads {
		if code, body := request(t, c, http.MethodGet, "http://backend"+path); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

func TestALocalHandlerChangesNothing(t *testing.T) {
	b := &scripted{}
	c := overUnix(t, server.LocalHandler(b, server.Config{Unsigned: true}))
	for _, path := range []string{"/provision", "/deprovision", "/restart", "/update", "/restore", "/reconcile_custom_domain", "/metrics", "/else"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if code, body := request(t, c, method, "http://backend"+path); code != http.StatusNotFound {
				t.Errorf("%s %s: %d %s", method, path, code, body)
			}
		}
	}
	if code, _ := request(t, c, http.MethodPost, "http://backend/provisions"); code != http.StatusMethodNotAllowed {
		t.Errorf("POST /provisions: %d", code)
	}
	if asked := b.last(); asked != nil {
		t.Errorf("the backend was asked %v", asked)
	}
}

func TestALocalHandlerTellsNothingOnAPort(t *testing.T) {
	b := &scripted{info: &backend.LeaseInfo{Host: "h"}}
	h := server.LocalHandler(b, server.Config{})
	srv := httptest.NewServer(h)
	defer srv.Close()
	for _, path := range localReads {
		if code, body := request(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, http.MethodGet, srv.URL+path); code != http.StatusForbidden {
			t.Errorf("%s: %d %s", path, code, body)
		}
		w := httptest.NewRecorder() // of no connection at all
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if w.Code != http.StatusForbidden {
			t.Errorf("%s without a connection: %d", path, w.Code)
		}
	}
	if asked := b.last(); asked != nil {
		t.Errorf("the backend was asked %v", asked)
	}
}

// emptied is a backend that is being drained.
type emptied struct {
	*scripted
	on bool
}

func (e emptied) Draining() bool { return e.on }

func TestHealthSaysThatABackendIsDrained(t *testing.T) {
	for on, want := range map[bool]string{
		false: `{"status":"healthy","notes":["a"]}`,
		true:  `{"status":"healthy","draining":true,"notes":["a","no new lease is taken: the backend is being drained"]}`,
	} {
		notes := append(make([]string, 0, 4), "a")
		h := server.New(emptied{&scripted{}, on}, server.Config{Notes: notes})
		for range 2 {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/health", http.NoBody))
			if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
				t.Errorf("%v: %d %s", on, w.Code, got)
			}
		}
	}
}

// noter is a backend that has something to say.
type noter struct {
	*scripted
	says []string
}

func (n *noter) Notes() []string { return n.says }

func TestHealthSaysWhatIsNotedNowWhetherItIsGoodOrNot(t *testing.T) {
	var log bytes.Buffer
	b := &noter{scripted: &scripted{}}
	h := server.New(b, server.Config{Notes: []string{"a"}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, step := range []struct {
		err  error
		says []string
		code int
		body string
	}{
		{nil, nil, http.StatusOK, `{"status":"healthy","notes":["a"]}`},
		{nil, []string{"b"}, http.StatusOK, `{"status":"healthy","notes":["a","b"]}`},
		{errors.New("dead"), []string{"b"}, http.StatusServiceUnavailable, `{"error":"the backend cannot do its work","notes":["a","b"]}`},
		{errors.New("dead"), nil, http.StatusServiceUnavailable, `{"error":"the backend cannot do its work","notes":["a"]}`},
		{nil, nil, http.StatusOK, `{"status":"healthy","notes":["a"]}`},
	} {
		b.err, b.says = step.err, step.says
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/health", http.NoBody))
		if got := strings.TrimSpace(w.Body.String()); w.Code != step.code || got != step.body {
			t.Errorf("%d %s, want %d %s", w.Code, got, step.code, step.body)
		}
	}
	if sick, well := strings.Count(log.String(), "is not healthy"), strings.Count(log.String(), "is healthy again"); sick != 1 || well != 1 {
		t.Errorf("logged %d and %d times:\n%s", sick, well, log.String())
	}
}
