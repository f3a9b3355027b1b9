package h1

import (
	"sync"
	"syscall"
	"time"
)

// watch waits for the client to leave, on a goroutine of its own.
type watch struct {
	mu   sync.Mutex
	off  bool          // the handler has ended or taken the connection over
	done chan struct{} // nil: none was started
}

// Watch ends the response's context when the client closes its connection. It
// does nothing while a body is unread, whose reader notices by itself, or when
// the next request is here already. It may be called from any goroutine, but
// not once the handler may have returned; calls after the first do nothing. It
// does not wait, for a write of the response in particular.
func (w *Response) Watch() {
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	if w.watch.done != nil || w.watch.off || (w.body != nil && !w.body.eof.Load()) || w.c.br.Buffered() > 0 {
		return
	}
	sc, ok := w.c.nc.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil || w.c.SetReadDeadline(time.Time{}) != nil {
		return
	}
	done := make(chan struct{})
	w.watch.done = done
	cancel := w.c.cancel
	go func() {
		defer close(done)
		gone := false
		var b [1]byte
		err := raw.Read(func(fd uintptr) bool {
			n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			if err == syscall.EAGAIN || err == syscall.EINTR {
				return false // wait
			}
			gone = err != nil || n == 0
			return true
		})
		if err == nil && gone {
			cancel()
		}
	}()
}

// stopWatch ends the watch, if there is one, for good.
func (w *Response) stopWatch() {
	w.watch.mu.Lock()
	w.watch.off = true
	done := w.watch.done
	w.watch.done = nil
	w.watch.mu.Unlock()
	if done == nil {
		return
	}
	_ = w.c.SetReadDeadline(time.Unix(1, 0))
	<-done
	_ = w.c.SetReadDeadline(time.Time{})
}
