package agent

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
)

// chunk is what is carried at once: a record of TLS.
const chunk = 16 << 10

var chunks = sync.Pool{New: func() any { b := make([]byte, chunk); return &b }}

// half is a connection that can end in one direction alone.
type half interface {
	net.Conn
	CloseWrite() error
}

// relay carries bytes between the other end and what it asked for, until both directions
// have ended, either breaks, the other end is gone altogether, or ctx is done. An end is
// passed on as an end, and a break as a break: nothing that was cut looks whole.
func relay(ctx context.Context, back *tls.Conn, target net.Conn) {
	var once sync.Once
	abort := func() {
		once.Do(func() {
			_ = back.NetConn().Close()
			cut(target)
		})
	}
	stop := context.AfterFunc(ctx, abort)
	defer stop()
	to, ok := target.(half)
	if !ok {
		abort()
		return
	}
	var wg, watching sync.WaitGroup
	wg.Go(func() {
		if !carry(to, back) {
			abort()
			return
		}
		watching.Go(func() {
			gone(back.NetConn())
			abort()
		})
	})
	wg.Go(func() {
		if !carry(back, to) {
			abort()
		}
	})
	wg.Wait()
	_ = target.Close()
	// The last close_notify is on its way: the connection ends in order.
	_ = back.Close()
	watching.Wait()
}

// carry is false when it broke off.
func carry(to half, from io.Reader) bool {
	b, ok := chunks.Get().(*[]byte)
	if !ok {
		return false
	}
	defer chunks.Put(b)
	// Bare, so that no other way of copying, with a buffer of its own, is found.
	if _, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, *b); err != nil {
		return false
	}
	return to.CloseWrite() == nil
}

// gone waits for the end of a connection whose session has said its last word: by then
// nothing comes but the end. It tells one that only sends no more from one that also
// listens no more, which a quiet target would never learn.
func gone(raw net.Conn) {
	var b [1]byte
	_, _ = raw.Read(b[:])
}

// cut ends a connection so that the other side sees a break.
func cut(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
