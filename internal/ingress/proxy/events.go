package proxy

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"time"
)

// errStreamEnded says that a stream was ended cleanly at the end of a drain.
var errStreamEnded = errors.New("the stream was ended for a drain")

func isEventStream(res *http.Response) bool {
	ct := res.Header.Get("Content-Type")
	const want = "text/event-stream"
	return len(ct) >= len(want) && strings.EqualFold(ct[:len(want)], want)
}

// eventStream passes server-sent events on and knows where one ends, so that
// the stream can be ended between two.
type eventStream struct {
	x     *exchange
	plain bool // not compressed: boundaries can be seen
	// blank is how much of an event's end the stream's last bytes are.
	lineEmpty bool // only line breaks since the last line break
	lastCR    bool
	boundary  bool
}

// followEvents lets the end of a drain end the stream politely.
func (x *exchange) followEvents(res *http.Response) *eventStream {
	enc := res.Header.Get("Content-Encoding")
	ev := &eventStream{x: x, plain: enc == "" || strings.EqualFold(enc, "identity"), boundary: true, lineEmpty: true}
	c, rc := x.c, http.NewResponseController(x.w)
	c.onTimeout = ev.goOn
	x.t.mu.Lock()
	x.onEnd = func(force bool) {
		if force {
			c.close()
			_ = rc.SetWriteDeadline(time.Unix(1, 0))
			return
		}
		_ = c.nc.SetReadDeadline(time.Unix(1, 0)) // the reader wakes and decides
	}
	if x.p.leaving.Load() {
		x.endLocked(false)
	}
	x.t.mu.Unlock()
	return ev
}

// Write passes data on; once the drain has ended, no further than the end of
// the event under way, answering errStreamEnded.
func (ev *eventStream) Write(p []byte) (int, error) {
	ended := ev.x.ended.Load()
	if ended && ev.atBoundary() {
		return 0, errStreamEnded
	}
	if !ended {
		ev.scan(p, false)
		return ev.x.w.Write(p)
	}
	n := ev.scan(p, true)
	if _, err := ev.x.w.Write(p[:n]); err != nil {
		return 0, err
	}
	if ev.atBoundary() {
		return n, errStreamEnded
	}
	return n, nil
}

func (ev *eventStream) atBoundary() bool { return ev.boundary || !ev.plain }

// scan follows line ends, LF, CR or CRLF; an empty line ends an event. With
// stop it returns after the first boundary. It returns how far it got.
func (ev *eventStream) scan(p []byte, stop bool) int {
	for i, b := range p {
		switch {
		case b == '\n' && ev.lastCR:
			ev.lastCR = false // the second half of CRLF
		case b == '\n' || b == '\r':
			ev.boundary = ev.lineEmpty
			ev.lineEmpty = true
			ev.lastCR = b == '\r'
		default:
			ev.boundary, ev.lineEmpty, ev.lastCR = false, false, false
		}
		if stop && ev.boundary && !(b == '\r' && i+1 < len(p) && p[i+1] == '\n') {
			return i + 1
		}
	}
	return len(p)
}

// mayEnd says, after a read failed, that the drain's end woke the reader and
// the stream is between two events.
func (ev *eventStream) mayEnd(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) && ev.x.ended.Load() && ev.atBoundary()
}

// goOn is asked by the connection when the drain's end has woken its reader
// within an event: it reads on until the event's end.
func (ev *eventStream) goOn() bool {
	if !ev.x.ended.Load() || ev.atBoundary() {
		return false
	}
	_ = ev.x.c.nc.SetReadDeadline(noDeadline) // the forced end bounds it
	return true
}
