package h1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	stateIdle   int32 = iota // no byte of a next request has been read
	stateActive              // a request is being read or served
	stateClosed              // closed while idle
)

// phase says what the next read of the connection is for.
type phase int

const (
	phaseIdle phase = iota
	phaseHead
	phaseBody
)

// conn is one client connection. Its goroutine reads a request, runs the
// handler, and so on.
type conn struct {
	s      *Server
	nc     net.Conn
	remote string
	ctx    context.Context
	cancel context.CancelFunc
	br     *bufio.Reader
	state  atomic.Int32

	phase     phase
	first     bool // no request has been served yet
	headLeft  int
	headArmed bool
	readUntil atomic.Int64 // UnixNano of the read deadline in force, if it is ours
	lastPost  bool
	framing   framing

	res Response
}

var errHeadTooLarge = errors.New("request head too large")

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{s: s, nc: nc, remote: nc.RemoteAddr().String(), first: true}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.br = bufio.NewReaderSize(c, 4<<10)
	return c
}

// Read is what the bufio.Reader fills itself from.
func (c *conn) Read(p []byte) (int, error) {
	switch c.phase {
	case phaseIdle:
		timeout := c.s.cfg.IdleTimeout
		if c.first {
			timeout = c.s.cfg.HeadTimeout
		}
		// Moved only now and then, so that a busy connection does without.
		now := c.s.cfg.Now()
		if left := c.readUntil.Load() - now.UnixNano(); left < int64(timeout/2) || left > int64(timeout) {
			until := now.Add(timeout)
			if err := c.SetReadDeadline(until); err != nil {
				return 0, err
			}
			c.readUntil.Store(until.UnixNano())
		}
	case phaseHead:
		// What came at once was not the whole head.
		if !c.headArmed {
			c.headArmed = true
			if err := c.SetReadDeadline(c.s.cfg.Now().Add(c.s.cfg.HeadTimeout)); err != nil {
				return 0, err
			}
		}
	}
	if c.phase != phaseBody {
		if c.headLeft <= 0 {
			return 0, errHeadTooLarge
		}
		p = p[:min(len(p), c.headLeft)]
	}
	n, err := c.nc.Read(p)
	c.headLeft -= n
	c.framing.feed(p[:n])
	if n > 0 && c.phase == phaseIdle {
		c.phase = phaseHead
		if !c.state.CompareAndSwap(stateIdle, stateActive) {
			return 0, net.ErrClosed
		}
	}
	return n, err
}

// SetReadDeadline keeps book of who set the deadline: one that is not ours is
// replaced before the next wait.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.readUntil.Store(0)
	return c.nc.SetReadDeadline(t)
}

func (c *conn) serve() {
	hijacked := false
	defer func() {
		c.cancel()
		if !hijacked {
			_ = c.nc.Close()
		}
		c.s.remove(c)
	}()
	for {
		req, err := c.readRequest()
		if err != nil {
			c.refuse(err)
			return
		}
		w := &c.res
		w.reset(c, req)
		ok := c.handle(w, req)
		if hijacked = w.hijacked; hijacked {
			return
		}
		if !ok || !w.finish() {
			w.release()
			return
		}
		w.release()
		c.first = false
		if c.ctx.Err() != nil {
			return
		}
	}
}

// handle runs the handler; false when it panicked: then the connection is cut
// as it is.
func (c *conn) handle(w *Response, req *http.Request) (ok bool) {
	defer func() {
		w.stopWatch()
		if ok {
			return
		}
		p := recover()
		if err, isErr := p.(error); p != nil && !(isErr && errors.Is(err, http.ErrAbortHandler)) {
			c.s.cfg.Log.Error("handler panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	c.s.cfg.Handler.ServeHTTP(w, req)
	return true
}

// readRequest waits for a request and reads its head.
func (c *conn) readRequest() (*http.Request, error) {
	c.phase, c.headLeft, c.headArmed = phaseIdle, c.s.cfg.MaxHeadBytes, false
	c.state.Store(stateIdle)
	if c.br.Buffered() > 0 { // it came with the last one
		c.phase = phaseHead
		c.state.Store(stateActive)
	}
	if c.lastPost {
		c.skipLineBreaks()
	}
	if _, err := c.br.Peek(1); err != nil {
		return nil, quietError{err}
	}
	buffered, _ := c.br.Peek(c.br.Buffered())
	c.framing.begin(buffered)
	req, err := http.ReadRequest(c.br)
	c.framing.on = false
	if err != nil {
		if c.headLeft <= 0 {
			return nil, errHeadTooLarge
		}
		return nil, err
	}
	c.phase = phaseBody
	c.lastPost = req.Method == http.MethodPost
	req.RemoteAddr = c.remote
	if err := c.framing.check(req); err != nil {
		return nil, err
	}
	return req, checkRequest(req)
}

// skipLineBreaks is the tolerance of RFC 9112, 2.2, for clients that end a body
// with a line break that is not part of it.
func (c *conn) skipLineBreaks() {
	for range 4 {
		if b, err := c.br.Peek(1); err != nil || (b[0] != '\r' && b[0] != '\n') {
			return
		}
		_, _ = c.br.Discard(1)
	}
}

// quietError ends a connection without a word: nothing was asked.
type quietError struct{ error }

// statusError is a refusal with a status of its own.
type statusError struct {
	status int
	text   string
}

func (e statusError) Error() string { return e.text }

// checkRequest is what a server must check beyond parsing.
func checkRequest(req *http.Request) error {
	if req.ProtoMajor != 1 {
		return statusError{http.StatusHTTPVersionNotSupported, "unsupported protocol version"}
	}
	if req.ProtoAtLeast(1, 1) && req.Host == "" {
		return statusError{http.StatusBadRequest, "missing Host header"}
	}
	if !httpguts.ValidHostHeader(req.Host) {
		return statusError{http.StatusBadRequest, "malformed Host header"}
	}
	for k, vv := range req.Header {
		if !httpguts.ValidHeaderFieldName(k) {
			return statusError{http.StatusBadRequest, "invalid header name"}
		}
		for _, v := range vv {
			if !httpguts.ValidHeaderFieldValue(v) {
				return statusError{http.StatusBadRequest, "invalid header value"}
			}
		}
	}
	for _, e := range req.Header["Expect"] {
		if e != "" && !strings.EqualFold(e, expectContinue) {
			return statusError{http.StatusExpectationFailed, "unknown expectation"}
		}
	}
	return nil
}

// expectContinue is the only expectation there is.
const expectContinue = "100-continue"

// refuse answers a request that could not be read. A client that is gone, or
// says nothing, is told nothing.
func (c *conn) refuse(err error) {
	var quiet quietError
	var ne net.Error
	var broken *net.OpError // url.Error is a net.Error too, so that type does not tell
	var se statusError
	switch {
	case errors.As(err, &quiet), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF),
		errors.Is(err, net.ErrClosed):
		return
	case errors.Is(err, errHeadTooLarge):
		se = statusError{http.StatusRequestHeaderFieldsTooLarge, "request head too large"}
	case errors.As(err, &ne) && ne.Timeout():
		se = statusError{http.StatusRequestTimeout, "request head did not arrive in time"}
	case errors.As(err, &broken):
		return
	case errors.As(err, &se):
	case strings.Contains(err.Error(), "transfer encoding"):
		se = statusError{http.StatusNotImplemented, "unsupported transfer encoding"}
	default:
		se = statusError{http.StatusBadRequest, "malformed request"}
	}
	c.s.cfg.Log.Debug("request refused", "client", c.remote, "status", se.status, "error", err)
	body := fmt.Sprintf("%s: %s\n", http.StatusText(se.status), se.text)
	_, _ = fmt.Fprintf(c.nc, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		se.status, http.StatusText(se.status), len(body), body)
	c.lingerClose()
}

// linger is how long the client may take to see our last words: closing with
// bytes of its unread would reset the connection and lose them.
const linger = 500 * time.Millisecond

func (c *conn) lingerClose() {
	if cw, ok := c.nc.(interface{ CloseWrite() error }); ok && cw.CloseWrite() == nil {
		if c.SetReadDeadline(c.s.cfg.Now().Add(linger)) == nil {
			_, _ = io.CopyN(io.Discard, c.nc, maxDiscard)
		}
	}
	_ = c.nc.Close()
}
