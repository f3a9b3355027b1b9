package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test for something that must happen. It says
// nothing about how long it takes.
const patience = 20 * time.Second

// rig is a proxy that listens, and a client for it.
type rig struct {
	t      testing.TB
	p      *Proxy
	server *Server
	addr   string
	client *http.Client
}

// newRig is a proxy with times scaled for tests; change adjusts them.
func newRig(t testing.TB, change func(*Config)) *rig {
	t.Helper()
	cfg := Config{Log: slog.New(slog.DiscardHandler), SlowAfter: 10 * time.Millisecond, RedialEvery: 5 * time.Millisecond, EndGrace: 2 * time.Second}
	if change != nil {
		change(&cfg)
	}
	p := New(cfg)
	s := NewServer(p)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	r := &rig{t: t, p: p, server: s, addr: l.Addr().String(), client: &http.Client{
		Transport:     tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.Stop(ctx, 0)
		p.Close()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return r
}

// backend is an HTTP server in the role of a container.
func backend(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return address(s)
}

func address(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// closedPort is an address nobody listens on.
func closedPort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	return l.Addr().String()
}

func targets(addresses ...string) []table.Target {
	ts := make([]table.Target, 0, len(addresses))
	for _, a := range addresses {
		ts = append(ts, table.Target{ID: "c-" + a, Address: a, Weight: 1})
	}
	return ts
}

func routeTo(service, host, path string, ts ...table.Target) table.Route {
	return table.Route{Service: service, Hosts: []string{host}, Path: path, Targets: ts, HoldTimeout: patience, DrainTimeout: patience}
}

// swap puts routes into use as the server's table.
func (r *rig) swap(routes ...table.Route) {
	r.t.Helper()
	t := table.Table{Protocol: table.Protocol, Owner: table.OwnerServer, Version: 1, Routes: routes}
	t.Normalize()
	if err := t.Validate(); err != nil {
		r.t.Fatal(err)
	}
	r.p.Swap(Owned{Table: t})
}

// serve routes app.test to addresses.
func (r *rig) serve(addresses ...string) {
	r.t.Helper()
	r.swap(routeTo("app", "app.test", "/", targets(addresses...)...))
}

func (r *rig) request(method, path string, body io.Reader) *http.Request {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.addr+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Host = "app.test"
	return req
}

type reply struct {
	*http.Response
	body string
}

func (r *rig) do(req *http.Request) reply {
	r.t.Helper()
	res, err := r.client.Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatalf("%s %s: read the body: %v", req.Method, req.URL, err)
	}
	return reply{res, string(b)}
}

func (r *rig) get(path string) reply {
	r.t.Helper()
	return r.do(r.request(http.MethodGet, path, nil))
}

// later runs f and delivers its result, for requests that wait.
func later[T any](f func() T) <-chan T {
	ch := make(chan T, 1)
	go func() { ch <- f() }()
	return ch
}

func receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("%s: nothing came in %s", what, patience)
		panic("unreachable")
	}
}

// until waits for a condition that another goroutine brings about.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

func (r *rig) report(id string) (table.TargetReport, bool) {
	for _, tr := range r.p.Report().Targets {
		if tr.ID == id {
			return tr, true
		}
	}
	return table.TargetReport{}, false
}

func (r *rig) waitInFlight(address string, n int) {
	r.t.Helper()
	until(r.t, fmt.Sprintf("%d in flight on %s", n, address), func() bool {
		tr, _ := r.report("c-" + address)
		return tr.InFlight == n
	})
}

func (r *rig) waitHeld(n int) {
	r.t.Helper()
	until(r.t, fmt.Sprintf("%d requests held", n), func() bool { return r.p.Report().Holding["app"] == n })
}

// raw is a connection to the proxy on which a test writes what it likes.
type raw struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

func (r *rig) raw() *raw {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	r.t.Cleanup(func() { _ = c.Close() })
	return &raw{Conn: c, t: r.t, r: bufio.NewReader(c)}
}

func (c *raw) send(s string) *raw {
	c.t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.t.Fatal(err)
	}
	return c
}

func (c *raw) response(method string) reply {
	c.t.Helper()
	res, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("read a response: %v", err)
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatalf("read a response's body: %v", err)
	}
	return reply{res, string(b)}
}

// closed says whether the proxy has closed the connection.
func (c *raw) closed() bool {
	_, err := c.r.ReadByte()
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}
