package proxy

import (
	"errors"
	"fmt"
	"net/http"
)

// maxInformational bounds the 1xx answers before the response.
const maxInformational = 16

var errInformational = errors.New("too many informational responses")

// roundTrip sends the request on x.c and gives the client the answer. On an
// error before the response began the client has got nothing, and x holds no
// target any more. After it began, a failure ends the client's connection, so
// that the client sees the truncation.
func (x *exchange) roundTrip() error {
	if err := x.send(); err != nil {
		x.stopSender()
		x.detach(false)
		return err
	}
	for range maxInformational {
		res, err := http.ReadResponse(x.c.br, x.r) //nolint:bodyclose // read to its end or the connection is closed; closing would read on
		if err != nil {
			return x.headFailed(err)
		}
		switch {
		case res.StatusCode == http.StatusSwitchingProtocols:
			return x.upgrade(res)
		case res.StatusCode == http.StatusContinue:
			if s := x.body.sender; s != nil {
				s.continueOn(true)
			}
		case res.StatusCode < 200:
			x.inform(res)
		default:
			return x.respond(res)
		}
	}
	return x.headFailed(errInformational)
}

// send writes the head and a small body, and starts a streamed one.
func (x *exchange) send() error {
	hp := heads.Get().(*[]byte)
	defer putHead(hp)
	b := x.appendHead((*hp)[:0])
	if x.body.kind == bodySmall {
		b = append(b, *x.body.small...)
	}
	*hp = b
	n, err := x.c.nc.Write(b)
	if err != nil {
		return x.upstreamErr(err, n > 0)
	}
	if x.body.kind == bodyStream {
		x.startSender()
	}
	return nil
}

// headFailed gives up the connection after no usable response came.
func (x *exchange) headFailed(err error) error {
	s := x.body.sender
	// Before the sender is stopped: the server takes the deadline that stops it,
	// and a client that is slow, for a client that left.
	x.gone = x.ctx.Err() != nil
	x.stopSender()
	uerr := x.upstreamErr(err, true)
	x.detach(false)
	if s != nil && s.err != nil {
		// The reader failed because the sender closed the connection.
		for _, own := range []error{errBodyTooLarge, errClientSlow, errClientBody} {
			if errors.Is(s.err, own) {
				x.gone = false
				return s.err
			}
		}
	}
	return uerr
}

// inform passes an informational response on, early hints mostly.
func (x *exchange) inform(res *http.Response) {
	h := x.w.Header()
	copyResponseHeader(h, res.Header)
	x.w.WriteHeader(res.StatusCode)
	clear(h)
}

// answeredNow ends the response's deadline; the body has its own pace.
func (x *exchange) answeredNow() {
	t := x.t
	t.mu.Lock()
	x.answered = true
	armed := x.armed
	t.mu.Unlock()
	if armed || x.body.kind == bodyStream {
		_ = x.c.nc.SetReadDeadline(noDeadline)
	}
}

func (x *exchange) describe() string {
	return fmt.Sprintf("%s %s%s", x.r.Method, x.host, x.path)
}
