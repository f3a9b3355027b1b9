package proxy

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// gate is a backend whose requests wait until it is opened.
type gate struct {
	open  chan struct{}
	once  sync.Once
	count atomic.Int64
	name  string
}

func newGate(t testing.TB, name string) (*gate, string) {
	g := &gate{open: make(chan struct{}), name: name}
	a := backend(t, func(w http.ResponseWriter, r *http.Request) {
		g.count.Add(1)
		select {
		case <-g.open:
		case <-r.Context().Done():
		}
		says(g.name)(w, r)
	})
	t.Cleanup(g.release) // runs before the backend closes
	return g, a
}

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

func TestTheTargetWithTheFewestRequestsForItsWeightIsNext(t *testing.T) {
	r := newRig(t, nil)
	light, la := newGate(t, "light")
	heavy, ha := newGate(t, "heavy")
	r.swap(routeTo("app", "app.test", "/",
		table.Target{ID: "c-" + la, Address: la, Weight: 1},
		table.Target{ID: "c-" + ha, Address: ha, Weight: 3}))
	done := make(chan string, 40)
	for i := range 40 {
		go func() { done <- r.get("/").body }()
		until(t, "the request has a target", func() bool { return r.p.inFlight() == int64(i+1) })
	}
	until(t, "all requests have arrived", func() bool { return light.count.Load()+heavy.count.Load() == 40 })
	if l, h := light.count.Load(), heavy.count.Load(); l != 10 || h != 30 {
		t.Errorf("weights 1 and 3 got %d and %d of 40 requests, want 10 and 30", l, h)
	}
	light.release()
	heavy.release()
	for range 40 {
		receive(t, "a response", done)
	}
}

func TestEqualTargetsTakeTurns(t *testing.T) {
	r := newRig(t, nil)
	r.serve(backend(t, says("a")), backend(t, says("b")))
	seen := map[string]int{}
	for range 20 {
		seen[r.get("/").body]++
	}
	if seen["a"] != 10 || seen["b"] != 10 {
		t.Errorf("one request after another went %v, want 10 each", seen)
	}
}

func TestAFailedDialIsTriedOnAnotherTarget(t *testing.T) {
	r := newRig(t, nil)
	r.serve(closedPort(t), backend(t, says("alive")), closedPort(t))
	for range 10 {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if got := r.do(r.request(method, "/", nil)); got.body != "alive" {
				t.Fatalf("%s: %d %q, want the living target's answer", method, got.StatusCode, got.body)
			}
		}
	}
}

func TestADialThatHangsIsGivenUpForAnotherTarget(t *testing.T) {
	const dead = "192.0.2.1:80"
	r := newRig(t, func(c *Config) {
		c.DialTimeout, c.DialPatience = time.Hour, 10*time.Millisecond
		c.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			if address == dead {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	})
	r.serve(dead, backend(t, says("alive")))
	for range 4 {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if got := r.do(r.request(method, "/", nil)); got.body != "alive" {
				t.Fatalf("%s: %d %q, want the living target's answer", method, got.StatusCode, got.body)
			}
		}
	}
}

func TestTheOnlyTargetLeftHasTheWholeTimeToConnect(t *testing.T) {
	var left atomic.Int64
	r := newRig(t, func(c *Config) {
		c.DialTimeout, c.DialPatience = time.Hour, time.Second
		c.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			if end, ok := ctx.Deadline(); ok {
				left.Store(int64(time.Until(end)))
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	})
	r.serve(backend(t, says("alive")))
	r.get("/")
	if got := time.Duration(left.Load()); got < time.Minute {
		t.Errorf("it has %s, want an hour", got)
	}
}

func TestATargetWhoseDialFailedIsTheLastChoiceForAWhile(t *testing.T) {
	r := newRig(t, nil)
	dead, alive := newTarget(r.p, targetKey{"dead", "x", ""}), newTarget(r.p, targetKey{"alive", "y", ""})
	rt := &route{targets: []candidate{{dead, 1}, {alive, 1}}}
	dead.badTill.Store(100)
	alive.state.Store(50) // busy, but it answers
	for range 4 {
		if got := rt.pick(nil, 99); got != alive {
			t.Fatal("the target that just failed was picked before one that answers")
		}
	}
	if got := rt.pick(nil, 101); got != dead {
		t.Error("its rest is over and it has the fewest requests, yet it was not picked")
	}
	if got := rt.pick([]*target{alive}, 99); got != dead {
		t.Error("it is the only one left, yet it was not picked")
	}
}
