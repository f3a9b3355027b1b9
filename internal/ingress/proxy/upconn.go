package proxy

import (
	"bufio"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// errHeadTooLarge says that a response's head exceeds MaxUpstreamHead.
var errHeadTooLarge = errors.New("the response's head is too large")

// upConn is one connection to a target. One exchange has it at a time, and in
// that exchange the handler's goroutine reads and one goroutine writes.
type upConn struct {
	nc        net.Conn
	br        *bufio.Reader // over Read; pooled while the connection is idle
	idleSince time.Time
	idleLimit time.Duration // 0: the pool's
	reused    bool

	got      int64  // bytes read in this exchange
	headLeft int64  // bytes the head may still have; < 0: the head is over
	onRead   func() // called before a read that may wait

	// onTimeout is asked after a read ran into its deadline whether to go on.
	onTimeout func() bool

	raw     syscall.RawConn // nil when the connection has none
	peek    func(fd uintptr) bool
	quiet   bool // what peek found: open and nothing to read
	layered bool // above the descriptor is a layer, such as TLS, that reads ahead
	over    bool // a read has met the end, or failed
	buf     [1]byte
}

func newUpConn(nc net.Conn) *upConn {
	c := &upConn{nc: nc}
	if c.raw, c.layered = bottom(nc); c.raw != nil {
		c.peek = c.peekFD
	}
	return c
}

// maxLayers bounds how deep a descriptor is looked for.
const maxLayers = 8

// bottom is the descriptor below a connection, nil for none, and whether there are
// layers between that may hold what was read from it.
func bottom(nc net.Conn) (raw syscall.RawConn, layered bool) {
	for range maxLayers {
		if sc, ok := nc.(syscall.Conn); ok {
			if raw, err := sc.SyscallConn(); err == nil {
				return raw, layered
			}
			break
		}
		upper, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		nc, layered = upper.NetConn(), true
	}
	return nil, layered
}

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}

// begin readies the connection for an exchange.
func (c *upConn) begin(maxHead int64, onRead func()) {
	if c.br == nil {
		c.br = readers.Get().(*bufio.Reader)
		c.br.Reset(c)
	}
	c.got = 0
	c.headLeft = maxHead
	c.onRead = onRead
}

// park gives the reader back; it must be empty.
func (c *upConn) park() {
	c.onRead, c.onTimeout = nil, nil
	if c.br != nil {
		c.br.Reset(nil)
		readers.Put(c.br)
		c.br = nil
	}
}

func (c *upConn) close() {
	_ = c.nc.Close()
}

// Read is what the bufio.Reader fills itself from: before it waits, what the
// client has not been sent yet is flushed.
func (c *upConn) Read(p []byte) (int, error) {
	if c.onRead != nil {
		c.onRead()
	}
	if c.headLeft == 0 {
		return 0, errHeadTooLarge
	}
	if c.headLeft > 0 && int64(len(p)) > c.headLeft {
		p = p[:c.headLeft]
	}
	n, err := c.nc.Read(p)
	for n == 0 && err != nil && c.onTimeout != nil && errors.Is(err, os.ErrDeadlineExceeded) && c.onTimeout() {
		n, err = c.nc.Read(p)
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.over = true // the reader above may be given back before it passes this on
	}
	c.got += int64(n)
	if c.headLeft > 0 {
		c.headLeft -= int64(n)
	}
	return n, err
}

func (c *upConn) headDone() { c.headLeft = -1 }

// alive reports whether an idle connection is open and silent. A close by the
// other side, or anything it sent unasked, makes it useless. Without access to
// the descriptor the answer is yes.
func (c *upConn) alive() bool {
	if c.over {
		return false
	}
	if c.raw != nil {
		c.quiet = false
		if err := c.raw.Read(c.peek); err != nil || !c.quiet {
			return false
		}
	}
	return !c.layered || c.drained()
}

// drained says that no layer holds anything either: a read that may not wait finds
// nothing.
func (c *upConn) drained() bool {
	if c.nc.SetReadDeadline(time.Unix(1, 0)) != nil {
		return false
	}
	n, err := c.nc.Read(c.buf[:])
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && c.nc.SetReadDeadline(noDeadline) == nil
}
