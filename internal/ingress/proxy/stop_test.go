package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

func TestAStopLetsRequestsFinishAndEndsStreamsPolitely(t *testing.T) {
	r := newRig(t, nil)
	g, slow := newGate(t, "finished")
	events, ea := stream(t, "text/event-stream")
	_, wa := echo(t)
	r.swap(routeTo("slow", "app.test", "/slow", targets(slow)...), routeTo("events", "app.test", "/events", targets(ea)...), routeTo("ws", "app.test", "/ws", targets(wa)...))
	got := later(func() reply { return r.get("/slow") })
	r.waitInFlight(slow, 1)
	_, body := r.open("/events")
	events <- "data: 1\n\n"
	expect(t, body, "data: 1\n\n")
	ws := r.websocket()
	exchangeMessage(t, ws, []byte("hello"))

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stopped := later(func() error { return r.server.Stop(ctx, 0) })
	if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
		t.Errorf("the event stream ended with %q, %v", rest, err)
	}
	if _, _, err := ws.Read(ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the WebSocket ended with %v", err)
	}
	g.release()
	if g := receive(t, "the slow response", got); g.body != "finished" {
		t.Errorf("the request in flight got %d %q", g.StatusCode, g.body)
	}
	if err := receive(t, "the stop", stopped); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestStreamsThatBeginDuringAStopEndCleanlyAtOnce(t *testing.T) {
	r := newRig(t, nil)
	_, ea := stream(t, "text/event-stream")
	ended, wa := echo(t)
	r.swap(routeTo("events", "app.test", "/events", targets(ea)...), routeTo("ws", "app.test", "/ws", targets(wa)...))
	r.p.leaving.Store(true)
	if _, body := r.open("/events"); body != nil {
		if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
			t.Errorf("the event stream ended with %q, %v", rest, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, _, err := r.websocket().Read(ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the client saw %v, want close status 1001", err)
	}
	if err := receive(t, "the backend's end", ended); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the backend saw %v, want close status 1001", err)
	}
}

func TestAStopCutsWhatIsLeftAtItsDeadline(t *testing.T) {
	r := newRig(t, nil)
	_, slow := newGate(t, "never")
	r.serve(slow)
	failed := later(func() bool {
		res, err := r.client.Do(r.request("GET", "/", nil))
		if err == nil {
			_ = res.Body.Close()
		}
		return err != nil || res.StatusCode >= 500
	})
	r.waitInFlight(slow, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := r.server.Stop(ctx, 0); err == nil {
		t.Error("a stop that cut a request reports success")
	}
	if !receive(t, "the cut request", failed) {
		t.Error("the request looks answered")
	}
	until(t, "nothing in flight", func() bool { return r.p.inFlight() == 0 })
}

// lateHead holds the first write to a taken-over connection back until another
// one has overtaken it, or a while has passed.
type lateHead struct{ http.ResponseWriter }

func (w lateHead) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w lateHead) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	return &lateConn{Conn: c, overtaken: make(chan struct{})}, rw, err
}

type lateConn struct {
	net.Conn
	first, second sync.Once
	overtaken     chan struct{}
}

func (c *lateConn) Write(p []byte) (n int, err error) {
	late := false
	c.first.Do(func() { late = true })
	if late {
		select {
		case <-c.overtaken:
		case <-time.After(50 * time.Millisecond):
		}
		return c.Conn.Write(p)
	}
	defer c.second.Do(func() { close(c.overtaken) })
	return c.Conn.Write(p)
}

func TestNoCloseFrameGoesAheadOfTheHead(t *testing.T) {
	r := newRig(t, nil)
	_, wa := echo(t)
	r.swap(routeTo("ws", "app.test", "/ws", targets(wa)...))
	r.p.leaving.Store(true)
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.p.ServeHTTP(lateHead{w}, req)
	}))
	defer late.Close()
	r.addr = address(late)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, _, err := r.websocket().Read(ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the client saw %v, want close status 1001", err)
	}
}
