package proxy

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

func TestARequestWithoutATargetWaitsForTheNextTable(t *testing.T) {
	r := newRig(t, nil)
	r.serve()
	got := later(func() reply { return r.do(r.request(http.MethodPost, "/", strings.NewReader("body"))) })
	r.waitHeld(1)
	r.serve(backend(t, says("here")))
	if g := receive(t, "the held request", got); g.body != "here" {
		t.Errorf("got %d %q, want the new target's answer", g.StatusCode, g.body)
	}
	r.waitHeld(0)
}

func TestARequestWaitsWhileEveryDialFails(t *testing.T) {
	r := newRig(t, nil)
	a := closedPort(t)
	r.serve(a)
	const n = 20
	got := make(chan reply, n)
	for range n {
		go func() { got <- r.get("/") }()
	}
	r.waitHeld(n)
	l, err := net.Listen("tcp", a)
	if err != nil {
		t.Skipf("the port was taken by another process meanwhile: %v", err)
	}
	s := httptest.NewUnstartedServer(says("up"))
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	for range n {
		if g := receive(t, "a held request", got); g.body != "up" {
			t.Errorf("got %d %q, want the answer of the target that came up", g.StatusCode, g.body)
		}
	}
}

func TestOnlyOneHeldRequestOfAServiceDialsAgain(t *testing.T) {
	dials := make(chan struct{}, 1000)
	r := newRig(t, func(c *Config) {
		c.RedialEvery = 20 * time.Millisecond
		c.Dial = func(context.Context, string) (net.Conn, error) {
			dials <- struct{}{}
			return nil, errDial
		}
	})
	rt := routeTo("app", "app.test", "/", targets("127.0.0.1:9")...)
	rt.HoldTimeout = 200 * time.Millisecond
	r.swap(rt)
	const n = 30
	got := make(chan reply, n)
	for range n {
		go func() { got <- r.get("/") }()
	}
	for range n {
		if g := receive(t, "a held request", got); g.StatusCode != 503 {
			t.Errorf("status %d, want 503", g.StatusCode)
		}
	}
	// Each dials once when it comes; after that at most one every 20 ms of
	// 200 ms and as many more as the token is handed on at the end.
	if d := len(dials); d > n+10+n {
		t.Errorf("%d dials by %d held requests", d, n)
	}
}

func TestAHoldEndsWithAStyled503AndRetryAfter(t *testing.T) {
	r := newRig(t, nil)
	rt := routeTo("app", "app.test", "/")
	rt.HoldTimeout = 30 * time.Millisecond
	r.swap(rt)
	req := r.request(http.MethodGet, "/", nil)
	req.Header.Set("Accept", "text/html")
	got := r.do(req)
	if got.StatusCode != 503 || got.Header.Get("Retry-After") == "" || !strings.Contains(got.body, "<h1>") {
		t.Errorf("got %d, Retry-After %q, %q", got.StatusCode, got.Header.Get("Retry-After"), got.body)
	}
	if n := r.p.Report().Failed["app"]; n != 1 {
		t.Errorf("the report counts %d failed requests, want 1", n)
	}
}

func TestAHoldTimeoutOfZeroDoesNotHold(t *testing.T) {
	r := newRig(t, nil)
	rt := routeTo("app", "app.test", "/")
	rt.HoldTimeout = 0
	r.swap(rt)
	if got := r.get("/"); got.StatusCode != 503 {
		t.Errorf("status %d, want 503 at once", got.StatusCode)
	}
}

func TestHeldRequestsAreBounded(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxHeldPerService = 2 })
	r.serve()
	got := make(chan reply, 2)
	for range 2 {
		go func() { got <- r.get("/") }()
	}
	r.waitHeld(2)
	if g := r.get("/"); g.StatusCode != 503 {
		t.Errorf("the third request got %d, want 503 at once", g.StatusCode)
	}
	r.serve(backend(t, says("here")))
	for range 2 {
		if g := receive(t, "a held request", got); g.body != "here" {
			t.Errorf("got %d %q", g.StatusCode, g.body)
		}
	}
}

func TestAHeldClientThatLeavesIsForgotten(t *testing.T) {
	r := newRig(t, nil)
	r.serve()
	ctx, cancel := context.WithCancel(t.Context())
	failed := later(func() error {
		_, err := r.client.Do(r.request(http.MethodGet, "/", nil).WithContext(ctx))
		return err
	})
	r.waitHeld(1)
	cancel()
	if err := receive(t, "the client's error", failed); err == nil {
		t.Error("the request succeeded without a target")
	}
	r.waitHeld(0)
	if n := r.p.Report().Failed["app"]; n != 0 {
		t.Errorf("a client that left counts as %d failed requests", n)
	}
}

func TestAHeldRequestWhoseRouteGoesGets404(t *testing.T) {
	r := newRig(t, nil)
	r.serve()
	got := later(func() reply { return r.get("/") })
	r.waitHeld(1)
	r.swap()
	if g := receive(t, "the held request", got); g.StatusCode != 404 {
		t.Errorf("status %d, want 404", g.StatusCode)
	}
}

func TestATableOnHoldSendsNothingToItsTargets(t *testing.T) {
	r := newRig(t, nil)
	rt := routeTo("app", "app.test", "/", targets(backend(t, says("stranger")))...)
	tb := table.Table{Routes: []table.Route{rt}}
	r.p.Swap(Owned{Table: tb, Hold: true})
	got := later(func() reply { return r.get("/") })
	r.waitHeld(1)
	r.p.Swap(Owned{Table: tb})
	if g := receive(t, "the held request", got); g.body != "stranger" {
		t.Errorf("got %d %q", g.StatusCode, g.body)
	}
}
