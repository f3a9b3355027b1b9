package proxy

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"
)

func TestARequestInFlightOnARemovedTargetGoesOn(t *testing.T) {
	r := newRig(t, nil)
	g, old := newGate(t, "old")
	r.serve(old)
	slow := later(func() reply { return r.get("/slow") })
	r.waitInFlight(old, 1)
	r.serve(backend(t, says("new")))
	for range 20 {
		if got := r.get("/"); got.body != "new" {
			t.Fatalf("after the swap a request went to %q", got.body)
		}
	}
	tr, there := r.report("c-" + old)
	if !there || tr.InFlight != 1 || !tr.Draining || tr.DrainingSince.IsZero() || tr.Service != "app" {
		t.Errorf("the report has %+v (%v) for the draining target", tr, there)
	}
	g.release()
	if got := receive(t, "the slow response", slow); got.body != "old" {
		t.Errorf("the slow request got %d %q, want the old target's answer", got.StatusCode, got.body)
	}
	until(t, "the drained target leaves the report", func() bool { _, there := r.report("c-" + old); return !there })
}

func TestARemovedTargetWithNothingInFlightLeavesTheReportAtOnce(t *testing.T) {
	r := newRig(t, nil)
	old := backend(t, says("old"))
	r.serve(old)
	r.get("/")
	r.waitInFlight(old, 0)
	r.serve(backend(t, says("new")))
	if tr, there := r.report("c-" + old); there {
		t.Errorf("the report still has %+v", tr)
	}
}

func TestATargetThatStaysKeepsItsCountAndItsConnections(t *testing.T) {
	r := newRig(t, nil)
	var mu sync.Mutex
	conns := map[string]bool{}
	g := make(chan struct{})
	a := backend(t, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/slow" {
			<-g
			return
		}
		mu.Lock()
		defer mu.Unlock()
		conns[q.RemoteAddr] = true
	})
	r.serve(a)
	slow := later(func() reply { return r.get("/slow") })
	r.waitInFlight(a, 1)
	for range 5 {
		r.get("/")
		until(t, "the request is done", func() bool { tr, _ := r.report("c-" + a); return tr.InFlight == 1 })
		r.serve(a, backend(t, says("sibling")))
		if tr, _ := r.report("c-" + a); tr.InFlight != 1 || tr.Draining {
			t.Fatalf("after a swap the report has %+v", tr)
		}
		r.serve(a)
	}
	close(g)
	receive(t, "the slow response", slow)
	if len(conns) != 1 {
		t.Errorf("%d connections for 5 requests over swaps, want 1", len(conns))
	}
}

func TestATargetThatComesBackWhileItDrainsIsInUseAgain(t *testing.T) {
	r := newRig(t, nil)
	g, a := newGate(t, "a")
	r.serve(a)
	slow := later(func() reply { return r.get("/") })
	r.waitInFlight(a, 1)
	r.serve(backend(t, says("b")))
	r.serve(a)
	tr, _ := r.report("c-" + a)
	if tr.InFlight != 1 || tr.Draining || !tr.DrainingSince.IsZero() {
		t.Errorf("the report has %+v", tr)
	}
	g.release()
	receive(t, "the slow response", slow)
	if got := r.get("/"); got.body != "a" {
		t.Errorf("a new request got %d %q", got.StatusCode, got.body)
	}
}

func TestAtTheDrainTimeoutARequestWithoutAnAnswerGets503(t *testing.T) {
	r := newRig(t, nil)
	_, old := newGate(t, "old")
	rt := routeTo("app", "app.test", "/", targets(old)...)
	rt.DrainTimeout = 30 * time.Millisecond
	r.swap(rt)
	slow := later(func() reply { return r.get("/") })
	r.waitInFlight(old, 1)
	r.swap()
	if got := receive(t, "the cut request", slow); got.StatusCode != 503 {
		t.Errorf("status %d, want 503", got.StatusCode)
	}
}

func TestAtTheDrainTimeoutAResponseUnderWayIsCutVisibly(t *testing.T) {
	r := newRig(t, nil)
	old := backend(t, func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.WriteString(w, "begun")
		_ = http.NewResponseController(w).Flush()
		<-q.Context().Done()
	})
	rt := routeTo("app", "app.test", "/", targets(old)...)
	rt.DrainTimeout = 30 * time.Millisecond
	r.swap(rt)
	res, err := r.client.Do(r.request(http.MethodGet, "/", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body := bufio.NewReader(res.Body)
	if b, err := body.Peek(5); err != nil || string(b) != "begun" {
		t.Fatalf("got %q, %v", b, err)
	}
	r.swap()
	if _, err := io.ReadAll(body); err == nil || errors.Is(err, io.EOF) {
		t.Error("the cut response looks complete to the client")
	}
	until(t, "the target leaves the report", func() bool { _, there := r.report("c-" + old); return !there })
}

func TestAtTheDrainTimeoutAClientThatDoesNotReadIsCut(t *testing.T) {
	r := newRig(t, nil)
	old := backend(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 64<<20))
	})
	rt := routeTo("app", "app.test", "/", targets(old)...)
	rt.DrainTimeout = 100 * time.Millisecond
	r.swap(rt)
	c := r.raw().send("GET / HTTP/1.1\r\nHost: app.test\r\n\r\n")
	if _, err := c.r.Peek(1); err != nil {
		t.Fatal(err)
	}
	r.swap()
	until(t, "the target leaves the report", func() bool { _, there := r.report("c-" + old); return !there })
}
