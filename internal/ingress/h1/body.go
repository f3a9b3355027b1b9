package h1

import (
	"errors"
	"io"
	"sync/atomic"
)

// body is a request's body: it answers an expectation at its first read and
// remembers whether its end was seen.
type body struct {
	io.ReadCloser
	w      *Response
	expect bool // 100 Continue is still owed
	eof    atomic.Bool
	broken atomic.Bool
}

// Read may be called from another goroutine than the handler's, one at a time.
func (b *body) Read(p []byte) (int, error) {
	if b.expect {
		b.expect = false
		b.w.sendContinue()
	}
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.eof.Store(true)
	case err != nil:
		b.broken.Store(true)
	}
	return n, err
}

// Close is for handlers that do; the rest is discarded after them.
func (b *body) Close() error { return nil }

// sendContinue tells the client to send its body, unless it has got an answer.
func (w *Response) sendContinue() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wrote || w.err != nil {
		return
	}
	_, w.err = w.c.nc.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
}

// maxDiscard is how much of an unwanted body is read to keep a connection.
const maxDiscard = 256 << 10

// discard reads what the handler left of the body; false when the end was not
// reached and the connection cannot be used for another request.
func (b *body) discard() bool {
	switch {
	case b.eof.Load():
		return true
	case b.broken.Load() || b.expect || b.w.req.ContentLength > maxDiscard:
		return false
	}
	c := b.w.c
	if c.SetReadDeadline(c.s.cfg.Now().Add(c.s.cfg.DiscardTimeout)) != nil {
		return false
	}
	_, err := io.CopyN(io.Discard, b, maxDiscard+1)
	return errors.Is(err, io.EOF) && b.eof.Load()
}
