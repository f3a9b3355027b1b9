package proxy

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// stream is a backend whose response is written piece by piece.
func stream(t testing.TB, contentType string) (pieces chan<- string, address string) {
	ch := make(chan string)
	a := backend(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		rc := http.NewResponseController(w)
		_ = rc.Flush()
		for {
			select {
			case s, more := <-ch:
				if !more {
					return
				}
				_, _ = io.WriteString(w, s)
				_ = rc.Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	return ch, a
}

func (r *rig) open(path string) (*http.Response, *bufio.Reader) {
	r.t.Helper()
	res, err := r.client.Do(r.request(http.MethodGet, path, nil))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = res.Body.Close() })
	return res, bufio.NewReader(res.Body)
}

func expect(t testing.TB, r *bufio.Reader, want string) {
	t.Helper()
	got := receive(t, "the next piece", later(func() string {
		b := make([]byte, len(want))
		n, _ := io.ReadFull(r, b)
		return string(b[:n])
	}))
	if got != want {
		t.Fatalf("read %q, want %q", got, want)
	}
}

func TestEventsArriveAsTheyAreSent(t *testing.T) {
	r := newRig(t, nil)
	send, a := stream(t, "text/event-stream")
	r.serve(a)
	res, body := r.open("/")
	if ct := res.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("content type %q", ct)
	}
	for _, ev := range []string{"data: 1\n\n", "data: half", " an event\n\n", ": comment\r\n\r\n"} {
		send <- ev
		expect(t, body, ev)
	}
	close(send)
	if rest, err := io.ReadAll(body); err != nil || len(rest) != 0 {
		t.Errorf("the stream's end: %q, %v", rest, err)
	}
}

func TestNoResponseWaitsInABuffer(t *testing.T) {
	r := newRig(t, nil)
	for _, length := range []string{"", "11"} {
		next := make(chan struct{})
		a := backend(t, func(w http.ResponseWriter, _ *http.Request) {
			if length != "" {
				w.Header().Set("Content-Length", length)
			}
			for _, s := range []string{"first", "second"} {
				_, _ = io.WriteString(w, s)
				_ = http.NewResponseController(w).Flush()
				<-next
			}
		})
		r.serve(a)
		_, body := r.open("/")
		expect(t, body, "first")
		next <- struct{}{}
		expect(t, body, "second")
		next <- struct{}{}
	}
}

func TestAnEventStreamLivesThroughADrainAndEndsCleanlyAtItsTimeout(t *testing.T) {
	r := newRig(t, nil)
	send, old := stream(t, "text/event-stream; charset=utf-8")
	rt := routeTo("app", "app.test", "/", targets(old)...)
	rt.DrainTimeout = 300 * time.Millisecond
	r.swap(rt)
	_, body := r.open("/")
	send <- "data: before\n\n"
	expect(t, body, "data: before\n\n")
	r.swap()
	send <- "data: while draining\n\n"
	expect(t, body, "data: while draining\n\n")
	if rest, err := io.ReadAll(body); err != nil || len(rest) != 0 {
		t.Errorf("at the timeout the client saw %q, %v; want a clean end", rest, err)
	}
	until(t, "the target leaves the report", func() bool { _, there := r.report("c-" + old); return !there })
}

func TestAnEventUnderWayIsCompletedBeforeItsStreamEnds(t *testing.T) {
	r := newRig(t, nil)
	send, old := stream(t, "text/event-stream")
	rt := routeTo("app", "app.test", "/", targets(old)...)
	rt.DrainTimeout = time.Millisecond
	r.swap(rt)
	_, body := r.open("/")
	send <- "data: half"
	expect(t, body, "data: half")
	x := r.onlyExchange()
	r.swap()
	until(t, "the drain has ended the stream", func() bool { return x.ended.Load() })
	send <- " whole\n\ndata: next\n\n"
	rest, err := io.ReadAll(body)
	if err != nil || string(rest) != " whole\n\n" {
		t.Errorf("the client saw %q, %v; want the event's rest and a clean end", rest, err)
	}
}

func TestAnEventThatIsNeverCompletedIsCutAfterTheGrace(t *testing.T) {
	r := newRig(t, func(c *Config) { c.EndGrace = 30 * time.Millisecond })
	send, old := stream(t, "text/event-stream")
	rt := routeTo("app", "app.test", "/", targets(old)...)
	rt.DrainTimeout = time.Millisecond
	r.swap(rt)
	_, body := r.open("/")
	send <- "data: half"
	expect(t, body, "data: half")
	r.swap()
	if _, err := io.ReadAll(body); err == nil {
		t.Error("half an event looks complete to the client")
	}
}

// onlyExchange is the one request in flight.
func (r *rig) onlyExchange() *exchange {
	r.t.Helper()
	var x *exchange
	until(r.t, "a request in flight", func() bool {
		for _, t := range r.p.allTargets() {
			t.mu.Lock()
			if t.active.head != nil {
				x = t.active.head
			}
			t.mu.Unlock()
		}
		return x != nil
	})
	return x
}

func TestEventBoundariesAreSeenInEverySpellingAndSplit(t *testing.T) {
	for _, c := range []struct {
		stream string
		ends   []int // offsets after an event
	}{
		{"data: a\n\ndata: b\n\n", []int{9, 18}},
		{"data: a\r\n\r\ndata: b\r\n\r\n", []int{11, 22}},
		{"data: a\r\rdata: b\r\r", []int{9, 18}},
		{"data: a\nid: 1\n\n", []int{15}},
		{": ping\n\n\n", []int{8, 9}},
		{"data: a\n\r\n", []int{10}},
		{"data: a", nil},
		{"data: a\r\n", nil},
	} {
		// Byte by byte, the boundary after each.
		ev := &eventStream{plain: true, boundary: true, lineEmpty: true}
		var got []int
		for i := range len(c.stream) {
			ev.scan([]byte(c.stream[i:i+1]), false)
			next := i + 1
			if ev.boundary && (next == len(c.stream) || c.stream[next] != '\n' || c.stream[i] != '\r') {
				got = append(got, next)
			}
		}
		if !equalInts(got, c.ends) {
			t.Errorf("%q: events end at %v, want %v", c.stream, got, c.ends)
		}
		// In one piece, stopping at the first.
		ev = &eventStream{plain: true, boundary: true, lineEmpty: true}
		n := ev.scan([]byte(c.stream), true)
		want := len(c.stream)
		if len(c.ends) > 0 {
			want = c.ends[0]
		}
		if n != want || ev.boundary != (len(c.ends) > 0) {
			t.Errorf("%q: stopped at %d (boundary %v), want %d", c.stream, n, ev.boundary, want)
		}
	}
}

func equalInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestALargeResponseArrivesWhole(t *testing.T) {
	r := newRig(t, nil)
	big := strings.Repeat("0123456789abcdef", 1<<16)
	for _, chunked := range []bool{false, true} {
		r.serve(backend(t, func(w http.ResponseWriter, _ *http.Request) {
			if chunked {
				_ = http.NewResponseController(w).Flush()
			}
			_, _ = io.WriteString(w, big)
		}))
		if got := r.get("/"); got.body != big {
			t.Errorf("chunked %v: %d bytes, want %d", chunked, len(got.body), len(big))
		}
	}
}
