package hmacauth

import (
	"errors"
	"io"
	"sync/atomic"
)

// maxUnknown bounds the bodies that are kept at once of senders whom nobody knows yet,
// in bytes. Anybody can write a header that may be right.
const maxUnknown = 64 << 20

// errCrowded is a body for which there is no memory now.
var errCrowded = errors.New("too many large bodies are read at once")

// crowd is all whose bodies are read.
type crowd struct{ left atomic.Int64 }

func newCrowd(bytes int64) *crowd {
	c := new(crowd)
	c.left.Store(bytes)
	return c
}

// hold begins with a body. What it takes is given back by release.
func (c *crowd) hold() *holding { return &holding{crowd: c, free: firstRead} }

// holding is the memory of one body. The first of it is free, so that small requests
// pass whatever strangers do.
type holding struct {
	crowd *crowd
	from  io.Reader
	free  int64
	taken int64
}

func (h *holding) of(from io.Reader) io.Reader {
	h.from = from
	return h
}

// Read implements io.Reader.
func (h *holding) Read(into []byte) (int, error) {
	n, err := h.from.Read(into)
	costs := int64(n) - h.free
	h.free = max(0, -costs)
	if costs > 0 {
		h.taken += costs
		if h.crowd.left.Add(-costs) < 0 {
			return n, errCrowded
		}
	}
	return n, err
}

func (h *holding) release() {
	h.crowd.left.Add(h.taken)
	h.taken = 0
}
