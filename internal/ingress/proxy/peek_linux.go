package proxy

import (
	"syscall"
	"unsafe"
)

// peekFD looks without waiting and without taking. It always answers true, so
// that RawConn.Read does not wait either. The call cannot block, so it need not
// tell the scheduler.
func (c *upConn) peekFD(fd uintptr) bool {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd,
		uintptr(unsafe.Pointer(&c.buf[0])), 1, syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
	c.quiet = errno == syscall.EAGAIN
	return true
}
