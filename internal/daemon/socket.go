package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// errSocketTaken: somebody answers on the API's socket.
var errSocketTaken = errors.New("another daemon serves on this socket")

const (
	socketDialTimeout = time.Second
	maxSocketPath     = 107 // of the kernel's 108, the last is a zero
)

// runDir is where sockets are whose path nobody gave. It is made when missing.
const runDir = "/run/berth"

// ListenUnix opens a daemon's socket for its owner alone. A socket that nobody
// answers on was left behind and is replaced; one that somebody serves on is
// never taken away from them, whatever data directory they use. Its folder has to
// be there, but for the default one: a path with a slip in it makes none.
func ListenUnix(ctx context.Context, path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path of a socket has at most %d bytes, and %s has %d; give another --socket", maxSocketPath, path, len(path))
	}
	if err := socketDir(filepath.Dir(path), runDir); err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: socketDialTimeout}
	if conn, err := d.DialContext(ctx, "unix", path); err == nil {
		_ = conn.Close() // the connection was the question
		return nil, fmt.Errorf("%s: %w; stop it, or give this one another --socket", path, errSocketTaken)
	}
	if err := removeSocket(path); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// socketDir looks at the folder of a socket, and makes the one that is ours to make.
func socketDir(dir, ours string) error {
	if dir == ours {
		return os.MkdirAll(dir, 0o755)
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the folder %s of the socket does not exist; create it (mkdir -p %s), or give another --socket", dir, dir)
	case err != nil:
		return fmt.Errorf("the folder of the socket: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder, so that no socket can be in it; give another --socket", dir)
	}
	return nil
}

// removeSocket removes a socket and nothing else.
func removeSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != os.ModeSocket:
		return fmt.Errorf("%s is not a socket; remove it, or give another --socket", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the old socket %s: %w", path, err)
	}
	return nil
}
