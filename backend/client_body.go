package backend

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"
)

// firstRead bounds what is set aside for a body before any of it has come, in
// bytes.
const firstRead = 256 << 10

// readBounded reads a whole body, or as much of it as the bound and
// ErrResponseTooLarge. A body that ends before its length is an error.
func readBounded(resp *http.Response, bound int64) ([]byte, error) {
	var buf bytes.Buffer
	if size := min(resp.ContentLength, firstRead); size > 0 {
		buf.Grow(int(size) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(resp.Body, bound+1))
	if err == nil && n > bound {
		buf.Truncate(int(bound))
		err = fmt.Errorf("%w: it has more than %d bytes", ErrResponseTooLarge, bound)
	}
	return buf.Bytes(), err
}

const (
	maxDrain  = 256 << 10 // bytes
	drainTime = time.Second
)

// drain reads on for a little, as a connection whose answer was read to its end is
// good for the next request.
func drain(body io.Reader, cancel func()) {
	stop := time.AfterFunc(drainTime, cancel)
	defer stop.Stop()
	// What it comes to is seen by whoever uses the connection next.
	_, _ = io.CopyN(io.Discard, body, maxDrain)
}
