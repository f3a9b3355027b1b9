package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

var (
	errBodyTooLarge = errors.New("the request's body is too large")
	errClientBody   = errors.New("reading the request's body")
	errClientSlow   = errors.New("the client stopped sending the request's body")
)

// smallBody is up to where a body of declared length is read before a target
// is looked for. It then goes out with the head in one write, can be sent again,
// and a slow client costs no target.
const smallBody = 16 << 10

type bodyKind int

const (
	bodyNone bodyKind = iota
	bodySmall
	bodyStream
)

// requestBody is how the exchange handles the request's body.
type requestBody struct {
	kind   bodyKind
	small  *[]byte // pooled, for bodySmall
	limit  int64
	taken  bool // of a stream: something was read
	expect bool // the client waits for 100 Continue
	sender *sender
}

func (b *requestBody) replayable() bool { return b.kind != bodyStream || !b.taken }

func (b *requestBody) release() {
	if b.small != nil {
		putHead(b.small)
		b.small = nil
	}
}

// prepareBody decides on the kind and reads a small body.
func (x *exchange) prepareBody() error {
	r, b := x.r, &x.body
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	b.limit = x.rt.maxBody
	if b.limit == 0 {
		b.limit = x.p.cfg.MaxBodyBytes
	}
	if r.ContentLength > b.limit {
		return errBodyTooLarge
	}
	b.expect = strings.EqualFold(r.Header.Get("Expect"), "100-continue")
	if r.ContentLength < 0 || r.ContentLength > smallBody || b.expect {
		b.kind = bodyStream
		return nil
	}
	b.kind = bodySmall
	b.small = heads.Get().(*[]byte)
	return x.readSmall(int(r.ContentLength))
}

func (x *exchange) readSmall(n int) error {
	buf := *x.body.small
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	*x.body.small = buf
	rc := http.NewResponseController(x.w)
	_ = rc.SetReadDeadline(x.p.cfg.Now().Add(x.p.cfg.ClientStall))
	_, err := io.ReadFull(x.r.Body, buf)
	if err == nil {
		// The end must be seen too: from then on the server watches the client.
		var one [1]byte
		if _, err = x.r.Body.Read(one[:]); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	_ = rc.SetReadDeadline(time.Time{})
	return clientBodyErr(err)
}

func clientBodyErr(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errClientSlow
	default:
		return errors.Join(errClientBody, err)
	}
}

// appendFraming writes the headers that delimit the body.
func (b *requestBody) appendFraming(dst []byte, r *http.Request) []byte {
	switch {
	case b.kind == bodyNone:
		switch r.Method {
		case http.MethodPost, http.MethodPut, http.MethodPatch:
			return append(dst, "Content-Length: 0\r\n"...)
		}
		return dst
	case r.ContentLength >= 0:
		dst = append(dst, "Content-Length: "...)
		dst = appendInt(dst, r.ContentLength)
		dst = append(dst, "\r\n"...)
	default:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
		for k := range r.Trailer {
			dst = appendHeader(dst, "Trailer", k)
		}
	}
	if b.expect {
		dst = append(dst, "Expect: 100-continue\r\n"...)
	}
	return dst
}

// sender streams a body to the target while the handler reads the response.
type sender struct {
	goOn chan bool     // for Expect: whether the target wants the body
	done chan struct{} // closed when err is set
	err  error
}

// expectWait is how long a target may leave an Expect unanswered before the
// body is sent all the same.
const expectWait = time.Second

// startSender begins to stream the body. The sender ends when the body is sent,
// either side fails, or stopSender is called.
func (x *exchange) startSender() {
	s := &sender{goOn: make(chan bool, 1), done: make(chan struct{})}
	x.body.sender = s
	x.body.taken = true
	c, rc := x.c, http.NewResponseController(x.w)
	go func() {
		defer close(s.done)
		if x.body.expect && !s.awaitGo(x.ctx) {
			return
		}
		if s.err = x.copyBodyUp(c, rc); s.err != nil {
			c.close() // the reader must not wait for a response to half a request
			return
		}
		x.watch() // until now reading the body has told of a client that left
		_ = c.nc.SetReadDeadline(x.p.cfg.Now().Add(x.p.cfg.ResponseTimeout))
	}()
}

// continueOn tells a waiting sender what the target said; later calls are void.
func (s *sender) continueOn(send bool) {
	select {
	case s.goOn <- send:
	default:
	}
}

// errNotWanted says that the target answered without asking for the body.
var errNotWanted = errors.New("the target does not want the body")

func (s *sender) awaitGo(ctx context.Context) bool {
	timer := time.NewTimer(expectWait)
	defer timer.Stop()
	select {
	case send := <-s.goOn:
		if !send {
			s.err = errNotWanted
		}
		return send
	case <-timer.C:
		return true
	case <-ctx.Done():
		s.err = ctx.Err()
		return false
	}
}

// finished reports whether the whole body was sent, without waiting.
func (s *sender) finished() bool {
	select {
	case <-s.done:
		return s.err == nil
	default:
		return false
	}
}

// senderGrace is how long the rest of a request's body may take after the whole
// response is here. Nearly always it is the last few bytes, which the target did
// not need for its answer.
const senderGrace = time.Second

// awaitSender reports whether the whole body was sent; a sender that is not
// done within the grace is stopped. The client gets its response before.
func (x *exchange) awaitSender() bool {
	s := x.body.sender
	if s == nil || s.finished() {
		return true
	}
	x.flush()
	timer := time.NewTimer(senderGrace)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C:
	}
	sent := s.finished()
	x.stopSender()
	return sent
}

// stopSender waits for the sender after taking both its connections from it:
// its read of the client and its write to the target fail at once.
func (x *exchange) stopSender() {
	s := x.body.sender
	if s == nil {
		return
	}
	x.body.sender = nil
	select {
	case <-s.done:
		return
	default:
	}
	s.continueOn(false)
	x.c.close()
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Unix(1, 0))
	<-s.done
}

// bodyBufs are for copying bodies either way.
const copySize = 32 << 10

func (x *exchange) copyBodyUp(c *upConn, rc *http.ResponseController) error {
	bp := copyBufs.Get().(*[]byte)
	defer copyBufs.Put(bp)
	out := chunkWriter{buf: *bp, chunked: x.r.ContentLength < 0}
	left := x.body.limit
	for {
		_ = rc.SetReadDeadline(x.p.cfg.Now().Add(x.p.cfg.ClientStall))
		n, err := x.r.Body.Read(out.room())
		if left -= int64(n); left < 0 {
			return errBodyTooLarge
		}
		if n > 0 {
			if werr := x.writeUp(c, out.frame(n)); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			_ = rc.SetReadDeadline(time.Time{})
			if out.chunked {
				return x.writeUp(c, appendTrailer([]byte("0\r\n"), x.r.Trailer))
			}
			return nil
		}
		if err != nil {
			return clientBodyErr(err)
		}
	}
}

func (x *exchange) writeUp(c *upConn, b []byte) error {
	_ = c.nc.SetWriteDeadline(x.p.cfg.Now().Add(x.p.cfg.ResponseTimeout))
	_, err := c.nc.Write(b)
	return err
}

func appendTrailer(b []byte, trailer http.Header) []byte {
	for k, vv := range trailer {
		if hopByHop(k) || ours(k) {
			continue
		}
		for _, v := range vv {
			if httpguts.ValidHeaderFieldValue(v) {
				b = appendHeader(b, k, v)
			}
		}
	}
	return append(b, "\r\n"...)
}
