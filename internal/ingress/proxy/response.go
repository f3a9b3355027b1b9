package proxy

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

var noDeadline time.Time

// errClientGone says that the response could not be written.
var errClientGone = errors.New("the client went away")

func copyResponseHeader(dst, src http.Header) {
	named := connectionNamed(src)
	for k, vv := range src {
		if k != "Content-Length" && (hopByHop(k) || (named != nil && hasName(named, k))) {
			continue
		}
		dst[k] = vv
	}
}

// respond gives the client the response's head and body.
func (x *exchange) respond(res *http.Response) error {
	c := x.c
	c.headDone()
	bodyless := x.r.Method == http.MethodHead || res.StatusCode == http.StatusNoContent || res.StatusCode == http.StatusNotModified
	atHand := bodyless || (res.ContentLength >= 0 && int64(c.br.Buffered()) >= res.ContentLength)
	if !atHand || x.body.kind == bodyStream {
		x.answeredNow()
	}
	c.idleLimit = keepAliveLimit(res.Header)

	h := x.w.Header()
	copyResponseHeader(h, res.Header)
	if _, has := h["Content-Type"]; !has {
		h["Content-Type"] = nil // the server must not guess
	}
	announced := x.announceTrailers(res)
	x.sideBySide(h, res.StatusCode)
	x.began = true
	x.w.WriteHeader(res.StatusCode)
	x.unsent = true

	var err error
	if !bodyless {
		err = x.copyBodyDown(res, isEventStream(res))
	}
	if err != nil {
		x.gone = x.ctx.Err() != nil
		x.stopSender()
		x.detach(false)
		return x.bodyFailed(err)
	}
	x.copyTrailers(res, announced)
	sent := x.awaitSender()
	x.detach(sent && !res.Close)
	return nil
}

// sideBySide lets a response begin while the request's body still comes. A
// target that refuses the rest of a body ends the client's connection with it.
func (x *exchange) sideBySide(h http.Header, status int) {
	s := x.body.sender
	if s == nil {
		return
	}
	s.continueOn(false)
	if s.finished() {
		return
	}
	if status >= 300 {
		h["Connection"] = []string{"close"}
	}
	_ = http.NewResponseController(x.w).EnableFullDuplex()
}

// copyBodyDown copies until the body's end. Flushing is up to upConn.Read: it
// flushes before it waits for the target, so data at hand goes out in as few
// writes as there are and none of it is kept while the target is silent.
func (x *exchange) copyBodyDown(res *http.Response, events bool) error {
	var dst io.Writer = x.w
	var ev *eventStream
	if events {
		ev = x.followEvents(res)
		dst = ev
	}
	bp := copyBufs.Get().(*[]byte)
	defer copyBufs.Put(bp)
	buf := *bp
	for {
		n, err := res.Body.Read(buf)
		if n > 0 {
			if _, werr := dst.Write(buf[:n]); werr != nil {
				if errors.Is(werr, errStreamEnded) {
					return werr
				}
				return errors.Join(errClientGone, werr)
			}
			x.unsent = true
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return nil
		case ev != nil && ev.mayEnd(err):
			return errStreamEnded
		default:
			return err
		}
	}
}

// bodyFailed decides what the client sees of a response that stopped midway.
func (x *exchange) bodyFailed(err error) error {
	switch {
	case errors.Is(err, errStreamEnded):
		return nil // a clean end: the server writes the last chunk
	case errors.Is(err, errClientGone) || x.gone:
		x.p.log.Debug("client closed the request", "status", 499, "request", x.describe())
	case x.ended.Load():
		x.p.log.Debug("cut at the drain timeout", "request", x.describe())
	default:
		x.p.quiet.warn("truncated "+x.rt.service.name, "reason", "the target broke off its response", "service", x.rt.service.name, "request", x.describe(), "error", err)
	}
	x.abort()
	return nil
}

// announceTrailers names the trailers that the response announced.
func (x *exchange) announceTrailers(res *http.Response) int {
	n := 0
	for k := range res.Trailer {
		if !hopByHop(k) {
			x.w.Header().Add("Trailer", k)
			n++
		}
	}
	return n
}

func (x *exchange) copyTrailers(res *http.Response, announced int) {
	if len(res.Trailer) == 0 {
		return
	}
	h := x.w.Header()
	prefix := ""
	if len(res.Trailer) != announced {
		// Unannounced ones need a chunked response; once something has been sent
		// without a length, it is one.
		prefix = http.TrailerPrefix
		x.unsent = true
		x.flush()
	}
	for k, vv := range res.Trailer {
		if !hopByHop(k) {
			h[prefix+k] = vv
		}
	}
}

// keepAliveLimit is how long the target says it keeps an idle connection, less
// a second for the way; 0 when it says nothing, negative when it says too little.
func keepAliveLimit(h http.Header) time.Duration {
	for _, v := range h["Keep-Alive"] {
		for part := range strings.SplitSeq(v, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			if !strings.EqualFold(strings.TrimSpace(name), "timeout") {
				continue
			}
			if d, err := time.ParseDuration(strings.TrimSpace(value) + "s"); err == nil && d >= 0 {
				if d -= time.Second; d <= 0 {
					return -1
				}
				return d
			}
		}
	}
	return 0
}
