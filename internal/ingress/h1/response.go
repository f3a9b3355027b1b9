package h1

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Response is the [http.ResponseWriter] of one request. It has the methods that
// an [http.ResponseController] looks for.
type Response struct {
	c        *conn
	req      *http.Request
	body     *body // nil: the request has none
	header   http.Header
	trailers []string // announced

	wrote      bool // the final head has been written
	bodyless   bool
	chunked    bool
	left       int64 // of the declared length; -1: none declared
	closeAfter bool
	duplex     bool
	hijacked   bool
	err        error // of a write; sticky

	mu  sync.Mutex // guards out and writes: a body's reader may write 100 Continue
	out *[]byte

	watch watch
}

var (
	_ http.ResponseWriter = (*Response)(nil)
	_ http.Flusher        = (*Response)(nil)
	_ http.Hijacker       = (*Response)(nil)
)

// outSize is what gathers before it is written: a head and a small body go out
// as one.
const outSize = 8 << 10

var outs = sync.Pool{New: func() any { b := make([]byte, 0, outSize); return &b }}

func (w *Response) reset(c *conn, req *http.Request) {
	header := w.header
	if header == nil {
		header = make(http.Header, 16)
	}
	clear(header)
	*w = Response{c: c, req: req, header: header, left: -1}
	if req.Body != nil && req.Body != http.NoBody {
		w.body = &body{ReadCloser: req.Body, w: w, expect: strings.EqualFold(req.Header.Get("Expect"), expectContinue) && req.ProtoAtLeast(1, 1)}
		req.Body = w.body
	}
}

// release gives the buffer back.
func (w *Response) release() {
	if w.out != nil {
		*w.out = (*w.out)[:0]
		outs.Put(w.out)
		w.out = nil
	}
	w.req, w.body = nil, nil
}

// Context ends when the connection does, and, once Watch was called, when the
// client leaves.
func (w *Response) Context() context.Context { return w.c.ctx }

// Header is the response's header; it may be used until the handler returns.
func (w *Response) Header() http.Header { return w.header }

// WriteHeader writes an informational response at once, and the head of the
// final one into the buffer.
func (w *Response) WriteHeader(status int) {
	if w.wrote || w.hijacked {
		return
	}
	if status >= 100 && status < 200 && status != http.StatusSwitchingProtocols {
		w.inform(status)
		return
	}
	w.frame(status)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrote = true
	b := w.buf()
	b = appendStatus(b, status)
	_, hasDate := w.header["Date"]
	for k, vv := range w.header {
		switch k {
		case "Connection", "Transfer-Encoding":
			continue
		case "Content-Length":
			if w.chunked {
				continue
			}
		case "Trailer":
			if !w.chunked {
				continue
			}
			w.announce(vv)
		}
		if strings.HasPrefix(k, http.TrailerPrefix) {
			continue
		}
		for _, v := range vv {
			b = appendField(b, k, v)
		}
	}
	if !hasDate {
		b = w.c.s.appendDate(b)
	}
	if w.chunked {
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	switch {
	case w.closeAfter:
		b = append(b, "Connection: close\r\n"...)
	case !w.req.ProtoAtLeast(1, 1):
		b = append(b, "Connection: keep-alive\r\n"...)
	}
	*w.out = append(b, "\r\n"...)
}

// frame decides how the body is delimited and whether the connection lives on.
func (w *Response) frame(status int) {
	w.bodyless = w.req.Method == http.MethodHead || status == http.StatusNoContent || status == http.StatusNotModified
	if cl := w.header["Content-Length"]; len(cl) > 0 {
		if n, err := strconv.ParseInt(cl[0], 10, 64); err == nil && n >= 0 {
			w.left = n
		} else {
			delete(w.header, "Content-Length")
		}
	}
	if status == http.StatusNoContent {
		delete(w.header, "Content-Length") // RFC 9110, 8.6
	}
	modern := w.req.ProtoAtLeast(1, 1)
	delimited := w.bodyless || w.left >= 0
	w.chunked = !delimited && modern
	w.closeAfter = w.req.Close || w.c.s.closing.Load() || (!delimited && !modern) || hasClose(w.header["Connection"])
	if w.body != nil && !w.duplex && !w.closeAfter {
		w.closeAfter = !w.body.discard()
	}
}

func hasClose(values []string) bool {
	for _, v := range values {
		if strings.EqualFold(v, "close") {
			return true
		}
	}
	return false
}

func (w *Response) announce(values []string) {
	for _, v := range values {
		for name := range strings.SplitSeq(v, ",") {
			w.trailers = append(w.trailers, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
}

// inform writes a 1xx response.
func (w *Response) inform(status int) {
	if !w.req.ProtoAtLeast(1, 1) {
		return // HTTP/1.0 has none
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b := appendStatus(w.buf(), status)
	for k, vv := range w.header {
		if k == "Content-Length" || k == "Transfer-Encoding" || k == "Connection" {
			continue
		}
		for _, v := range vv {
			b = appendField(b, k, v)
		}
	}
	*w.out = append(b, "\r\n"...)
	w.flushLocked()
}

// Write adds to the body. It may keep some of it until Flush.
func (w *Response) Write(p []byte) (int, error) {
	if w.hijacked {
		return 0, http.ErrHijacked
	}
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	if len(p) == 0 {
		return 0, w.err
	}
	if w.bodyless {
		return 0, http.ErrBodyNotAllowed
	}
	if w.left >= 0 {
		if int64(len(p)) > w.left {
			return 0, http.ErrContentLength
		}
		w.left -= int64(len(p))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.buf()
	if w.chunked {
		b = strconv.AppendUint(b, uint64(len(p)), 16)
		b = append(b, "\r\n"...)
	}
	if len(b)+len(p)+2 <= cap(b) {
		b = append(b, p...)
	} else {
		*w.out = b
		w.flushLocked()
		if w.err == nil {
			_, w.err = w.c.nc.Write(p)
		}
		b = (*w.out)[:0]
	}
	if w.chunked {
		b = append(b, "\r\n"...)
	}
	*w.out = b
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Flush sends what is in the buffer, beginning with the head.
func (w *Response) Flush() { _ = w.FlushError() }

// FlushError is Flush with its error.
func (w *Response) FlushError() error {
	if w.hijacked {
		return http.ErrHijacked
	}
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flushLocked()
	return w.err
}

func (w *Response) flushLocked() {
	if w.out == nil || len(*w.out) == 0 {
		return
	}
	if w.err == nil {
		_, w.err = w.c.nc.Write(*w.out)
	}
	*w.out = (*w.out)[:0]
}

func (w *Response) buf() []byte {
	if w.out == nil {
		w.out = outs.Get().(*[]byte)
	}
	return *w.out
}

// finish completes the response after the handler; false when the connection
// must not be used again, and then it has been closed.
func (w *Response) finish() bool {
	if !w.wrote {
		w.header["Content-Length"] = []string{"0"}
		w.WriteHeader(http.StatusOK)
	}
	w.mu.Lock()
	if w.chunked {
		*w.out = w.appendEnd(w.buf())
	}
	w.flushLocked()
	w.mu.Unlock()
	if w.err != nil || (w.left > 0 && !w.bodyless) {
		return false // truncated, which the close shows
	}
	if w.closeAfter || (w.body != nil && !w.body.discard()) {
		w.c.lingerClose()
		return false
	}
	return true
}

// appendEnd is the last chunk and the trailers.
func (w *Response) appendEnd(b []byte) []byte {
	b = append(b, "0\r\n"...)
	for _, k := range w.trailers {
		for _, v := range w.header[k] {
			b = appendField(b, k, v)
		}
	}
	for k, vv := range w.header {
		if name, ok := strings.CutPrefix(k, http.TrailerPrefix); ok {
			for _, v := range vv {
				b = appendField(b, name, v)
			}
		}
	}
	return append(b, "\r\n"...)
}

// SetReadDeadline bounds reads of the request's body.
func (w *Response) SetReadDeadline(t time.Time) error { return w.c.SetReadDeadline(t) }

// SetWriteDeadline bounds writes of the response. It may be called from any
// goroutine.
func (w *Response) SetWriteDeadline(t time.Time) error { return w.c.nc.SetWriteDeadline(t) }

// EnableFullDuplex lets the handler read the request's body after it began the
// response.
func (w *Response) EnableFullDuplex() error {
	w.duplex = true
	return nil
}

// Hijack hands the connection over. What was read ahead is in the reader.
func (w *Response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.wrote || w.hijacked {
		return nil, nil, errors.New("the response has begun or the connection is taken over already")
	}
	w.stopWatch()
	w.hijacked = true
	if err := w.c.nc.SetDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	w.c.phase = phaseBody
	return w.c.nc, bufio.NewReadWriter(w.c.br, bufio.NewWriterSize(w.c.nc, 512)), nil
}
