package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

// ErrInUse says that another data plane answers on the socket.
var ErrInUse = errors.New("another data plane is running")

// Listen opens the control socket, mode 0600. A socket file that nobody
// listens on any more is replaced; one that somebody does is [ErrInUse].
func Listen(path string) (*net.UnixListener, error) {
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("%w: it answers on %s", ErrInUse, path)
	}
	if fi, err := os.Lstat(path); err == nil {
		if fi.Mode()&fs.ModeSocket == 0 {
			return nil, fmt.Errorf("control socket %s: there is a file that is no socket; remove it or name another path", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("control socket %s: remove the one left behind: %w", path, err)
		}
	}
	// The mask must hold before the file exists, or another user could connect
	// in between.
	old := syscall.Umask(0o177)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	return l, nil
}
