package proxy

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/h1"
)

// exchange is one request on its way: from the client to a target and back.
type exchange struct {
	p   *Proxy
	w   http.ResponseWriter
	r   *http.Request
	ctx context.Context // ends when the client leaves, if it is watched

	client clientWatch // nil: ctx needs no watch

	host string
	path string

	rt    *route
	t     *target // acquired, while c is set
	c     *upConn
	tried []*target
	fresh bool // take no pooled connection: one just turned out dead

	body requestBody

	began   bool // the response's head has been given to the server
	gone    bool // the client left
	unsent  bool // something was written since the last flush
	flusher http.Flusher

	exchangeNode
}

// exchangeNode is what the sweeper and the end of a drain need of an exchange.
// Its fields are guarded by target.mu.
type exchangeNode struct {
	next, prev *exchange
	start      time.Time
	armed      bool
	answered   bool // the response's head is here: its deadline is over
	stopCancel func() bool
	ended      atomic.Bool
	onEnd      func(force bool) // nil: close the connection
}

func newExchange(p *Proxy, w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{
		p: p, w: w, r: r,
		host: canonicalHost(r.Host), path: r.URL.Path,
	}
	x.flusher, _ = w.(http.Flusher)
	if c, ok := w.(clientWatch); ok {
		x.client, x.ctx = c, c.Context()
	} else {
		x.ctx = r.Context()
	}
	return x
}

// clientWatch is how [h1.Response] tells of a client that leaves; net/http's
// requests do so by their own context.
type clientWatch interface {
	Context() context.Context
	Watch()
}

var _ clientWatch = (*h1.Response)(nil)

// watch has x.ctx end when the client leaves.
func (x *exchange) watch() {
	if x.client != nil {
		x.client.Watch()
	}
}

// run answers the request, whatever happens.
func (x *exchange) run() {
	rt := x.p.snap.Load().match(x.host, x.path)
	if rt == nil {
		x.p.page(x.w, x.r, pageNoRoute)
		return
	}
	x.rt = rt
	if tooManyHeaders(x.r.Header, x.p.cfg.MaxHeaderCount) {
		x.p.page(x.w, x.r, pageHeaders)
		return
	}
	if err := x.prepareBody(); err != nil {
		x.fail(err)
		return
	}
	for tries := 0; ; tries++ {
		if err := x.connect(); err != nil {
			x.fail(err)
			return
		}
		err := x.roundTrip()
		if err == nil {
			return
		}
		if !x.mayRepeat(err, tries) {
			x.fail(err)
			return
		}
		x.fresh = true
	}
}

// maxRepeats bounds how often one request is sent again.
const maxRepeats = 2

// mayRepeat says whether the request can be sent once more: nothing of it was
// sent, or nothing came back and sending it twice is the same as once.
func (x *exchange) mayRepeat(err error, tries int) bool {
	var up *upstreamError
	if x.began || x.ctx.Err() != nil || x.ended.Load() || tries >= maxRepeats || !errors.As(err, &up) {
		return false
	}
	if !up.sent && x.body.replayable() {
		return true
	}
	return up.gotBytes == 0 && !up.timeout && x.repeatable()
}

// repeatable says that the request may reach a target twice.
func (x *exchange) repeatable() bool {
	switch x.r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace,
		http.MethodPut, http.MethodDelete:
		return x.body.replayable()
	}
	return false
}

// upstreamError is a failure between us and the target.
type upstreamError struct {
	err      error
	sent     bool  // bytes of the request may have left
	gotBytes int64 // of the response
	timeout  bool
}

func (e *upstreamError) Error() string { return "talking to the target: " + e.err.Error() }
func (e *upstreamError) Unwrap() error { return e.err }

func (x *exchange) upstreamErr(err error, sent bool) error {
	return &upstreamError{err: err, sent: sent, gotBytes: x.c.got, timeout: errors.Is(err, os.ErrDeadlineExceeded)}
}

// attach makes c the exchange's connection; false when the target's drain is
// over already.
func (x *exchange) attach(t *target, c *upConn) bool {
	x.start = x.p.cfg.Now()
	t.mu.Lock()
	if t.ended {
		t.mu.Unlock()
		return false
	}
	x.t, x.c = t, c
	t.active.push(x)
	t.mu.Unlock()
	c.begin(x.p.cfg.MaxUpstreamHead, x.flush)
	x.p.sweeper.wake()
	return true
}

// detach gives the connection back, to the pool when it can serve again, and
// counts the request out.
func (x *exchange) detach(reusable bool) {
	t, c := x.t, x.c
	if t == nil {
		return
	}
	t.mu.Lock()
	t.active.remove(x)
	x.t, x.c = nil, nil
	armed, stop := x.armed, x.stopCancel
	x.armed, x.stopCancel, x.onEnd = false, nil, nil
	t.mu.Unlock()
	if armed {
		// A watch that fired already is closing the connection.
		reusable = stop() && reusable
	}
	if reusable && (armed || x.body.kind == bodyStream) {
		reusable = c.nc.SetDeadline(time.Time{}) == nil
	}
	if reusable && !x.ended.Load() && c.br.Buffered() == 0 {
		t.pushIdle(c)
	} else {
		c.close()
		c.park()
	}
	t.release()
}

// finish is the last act on every way out, a panic included.
func (x *exchange) finish() {
	x.detach(false)
	x.body.release()
}

// flush sends the client what it has not been sent; the upstream is about to
// be waited for.
func (x *exchange) flush() {
	if x.unsent && x.flusher != nil {
		x.unsent = false
		x.flusher.Flush()
	}
}

// exchangeList is an intrusive list, the newest first.
type exchangeList struct{ head *exchange }

func (l *exchangeList) push(x *exchange) {
	x.prev, x.next = nil, l.head
	if l.head != nil {
		l.head.prev = x
	}
	l.head = x
}

func (l *exchangeList) remove(x *exchange) {
	if x.prev != nil {
		x.prev.next = x.next
	} else if l.head == x {
		l.head = x.next
	}
	if x.next != nil {
		x.next.prev = x.prev
	}
	x.next, x.prev = nil, nil
}
