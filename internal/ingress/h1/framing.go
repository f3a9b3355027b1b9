package h1

import (
	"bytes"
	"net/http"
)

// framing notes which fields of a head say where the body ends. net/http drops
// a Content-Length beside a Transfer-Encoding before anyone sees it, so this
// looks at the bytes, as they are read.
type framing struct {
	on             bool // a head is being read
	length, coding bool // a Content-Length, a Transfer-Encoding was seen

	start    [len("transfer-encoding:")]byte // how the current line begins
	n        int                             // bytes of start in use
	anything bool                            // a line that is not blank was seen
}

// begin is for the first bytes of a head, as far as they are there.
func (f *framing) begin(b []byte) {
	*f = framing{on: true}
	f.feed(b)
}

// feed looks at the next bytes; those after the head's end are left alone.
func (f *framing) feed(b []byte) {
	for f.on && len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		f.n += copy(f.start[f.n:], line)
		if !whole {
			return
		}
		f.endLine()
		b = rest
	}
}

func (f *framing) endLine() {
	start := f.start[:f.n]
	f.n = 0
	switch {
	case len(start) == 0, len(start) == 1 && start[0] == '\r':
		f.on = !f.anything
		return
	case hasFieldName(start, "content-length:"):
		f.length = true
	case hasFieldName(start, "transfer-encoding:"):
		f.coding = true
	}
	f.anything = true
}

func hasFieldName(line []byte, name string) bool {
	return len(line) >= len(name) && bytes.EqualFold(line[:len(name)], []byte(name))
}

// check refuses a request that a server behind could take for a shorter or a
// longer one than this server does (RFC 9112, 6.1 and 6.3).
func (f *framing) check(req *http.Request) error {
	switch {
	case f.coding && f.length:
		return statusError{http.StatusBadRequest, "both Content-Length and Transfer-Encoding"}
	case f.coding && !req.ProtoAtLeast(1, 1):
		return statusError{http.StatusBadRequest, "Transfer-Encoding in HTTP/1.0"}
	}
	return nil
}
