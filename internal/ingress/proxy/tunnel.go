package proxy

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var errUnasked = errors.New("the target switched to a protocol that was not asked for")

// upgrade joins the client's connection and the target's after a 101, until
// both directions have ended.
func (x *exchange) upgrade(res *http.Response) error {
	asked := upgradeOf(x.r.Header)
	if asked == "" || !strings.EqualFold(asked, res.Header.Get("Upgrade")) {
		return x.headFailed(errUnasked)
	}
	x.stopSender() // an upgrade has no body
	x.c.headDone()
	x.answeredNow()
	client, rw, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return x.headFailed(err)
	}
	x.began = true
	defer func() { _ = client.Close() }()
	_ = x.c.nc.SetDeadline(noDeadline)

	tn := newTunnel(x, client, strings.EqualFold(asked, "websocket"))
	// No close frame of ours may go ahead of the head.
	tn.toClient.mu.Lock()
	x.t.mu.Lock()
	x.onEnd = tn.end
	if x.ended.Load() || x.p.leaving.Load() {
		x.endLocked(false)
	}
	x.t.mu.Unlock()

	head := switchingHead(res)
	fromClient := buffered(rw.Reader)
	fromTarget := buffered(x.c.br)
	_, err = client.Write(head)
	tn.toClient.mu.Unlock()
	if err == nil {
		tn.run(fromClient, fromTarget)
	}
	tn.forced.Stop()
	x.detach(false)
	return nil
}

// switchingHead is the 101 as the client gets it.
func switchingHead(res *http.Response) []byte {
	b := []byte("HTTP/1.1 101 Switching Protocols\r\n")
	h := make(http.Header, len(res.Header))
	copyResponseHeader(h, res.Header)
	for k, vv := range h {
		if k == "Content-Length" {
			continue
		}
		for _, v := range vv {
			b = appendHeader(b, k, v)
		}
	}
	b = append(b, "Connection: Upgrade\r\n"...)
	b = appendHeader(b, "Upgrade", res.Header.Get("Upgrade"))
	return append(b, "\r\n"...)
}

// buffered takes what a reader has read ahead.
func buffered(r interface {
	Buffered() int
	io.Reader
}) []byte {
	b := make([]byte, r.Buffered())
	_, _ = io.ReadFull(r, b) // it is there
	return b
}

// tunnel is two joined connections.
type tunnel struct {
	grace    time.Duration
	toClient direction
	toTarget direction
	forced   *time.Timer // cuts both; stopped until one side has ended
	ending   atomic.Bool
}

func newTunnel(x *exchange, client net.Conn, websocket bool) *tunnel {
	tn := &tunnel{grace: x.p.cfg.EndGrace}
	tn.toClient = direction{dst: client, tn: tn, websocket: websocket, close: closeFrame(false)}
	tn.toTarget = direction{dst: x.c.nc, tn: tn, websocket: websocket, close: closeFrame(true)}
	tn.forced = time.AfterFunc(time.Hour, tn.cut)
	tn.forced.Stop()
	return tn
}

// run copies both ways until both have ended.
func (tn *tunnel) run(fromClient, fromTarget []byte) {
	var other sync.WaitGroup
	other.Go(func() { tn.toTarget.pump(fromClient, tn.toClient.dst) })
	tn.toClient.pump(fromTarget, tn.toTarget.dst)
	other.Wait()
}

func (tn *tunnel) cut() {
	_ = tn.toClient.dst.Close()
	_ = tn.toTarget.dst.Close()
}

// end is called at the end of a drain, under a lock: it must not wait. A
// WebSocket gets a close frame each way; any other protocol has no polite end.
func (tn *tunnel) end(force bool) {
	if force || !tn.toClient.websocket {
		tn.cut()
		return
	}
	if tn.ending.Swap(true) {
		return
	}
	tn.forced.Reset(tn.grace)
	go tn.toClient.endIfIdle()
	go tn.toTarget.endIfIdle()
}

// direction is one half of a tunnel.
type direction struct {
	tn        *tunnel
	dst       net.Conn
	websocket bool
	close     []byte // the frame that ends it

	mu     sync.Mutex
	frames frames
	over   bool // our close frame was sent: nothing may follow it
}

// pumpSize is the buffer of a direction; every open tunnel has two.
const pumpSize = 8 << 10

// pump copies from src until it ends, or, once our close frame has gone out,
// until the other side's close frame has come.
func (d *direction) pump(first []byte, src net.Conn) {
	switch err := d.copy(first, src); {
	case errors.Is(err, errClosedBoth):
		_ = src.Close()
	case errors.Is(err, io.EOF):
		d.halfClose()
	default:
		d.tn.cut()
	}
}

// errClosedBoth says that both close frames have been exchanged with a side.
var errClosedBoth = errors.New("closed by both sides")

// copy never returns nil.
func (d *direction) copy(first []byte, src net.Conn) error {
	if err := d.pass(first); err != nil {
		return err
	}
	buf := make([]byte, pumpSize)
	for {
		n, err := src.Read(buf)
		if perr := d.pass(buf[:n]); perr != nil {
			return perr
		}
		if err != nil {
			return err
		}
	}
}

// halfClose passes the end of src on. A WebSocket has nothing more to say the
// other way either; other protocols may have much.
func (d *direction) halfClose() {
	cw, can := d.dst.(interface{ CloseWrite() error })
	if !can || cw.CloseWrite() != nil {
		d.tn.cut()
		return
	}
	if d.websocket {
		d.tn.forced.Reset(d.tn.grace)
	}
}

// pass hands p on.
func (d *direction) pass(p []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.websocket {
		_, err := d.dst.Write(p)
		return err
	}
	for len(p) > 0 {
		if d.tn.ending.Load() && d.frames.atBoundary() {
			d.sendClose()
		}
		if d.over {
			d.frames.scan(p, false)
			if d.frames.sawClose {
				return errClosedBoth
			}
			return nil
		}
		n := d.frames.scan(p, d.tn.ending.Load())
		if _, err := d.dst.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	if d.tn.ending.Load() && d.frames.atBoundary() {
		d.sendClose()
	}
	return nil
}

// endIfIdle sends the close frame when no frame is under way; else pass does
// at the frame's end.
func (d *direction) endIfIdle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.frames.atBoundary() {
		d.sendClose()
	}
}

// sendClose is called with d.mu held. After a close frame of the peer itself
// none of ours may follow.
func (d *direction) sendClose() {
	if d.over {
		return
	}
	d.over = true
	if d.frames.sawClose {
		return
	}
	_, _ = d.dst.Write(d.close)
}
