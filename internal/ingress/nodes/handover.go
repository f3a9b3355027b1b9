package nodes

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Estate is what a successor needs of this process. Release makes it the successor's,
// Keep takes it back.
type Estate struct {
	// Listener is the socket at which agents are taken, and Asked the address by which it
	// was asked for; nil when there is none.
	Listener syscall.Conn
	Asked    string
	Dials    *os.File // the successor's end of what this process will have dialled for it
	Nodes    int      // that are connected

	n    *Nodes
	mine *net.UnixConn
}

// Estate prepares what is passed on. Nothing changes until Release.
func (n *Nodes) Estate() (*Estate, error) {
	mine, theirs, err := pair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, err
	}
	e := &Estate{Dials: theirs, n: n, mine: mine, Nodes: len(n.hub.Nodes())}
	if l := n.current(); l != nil {
		e.Listener, e.Asked = l.TCPListener, l.asked()
	}
	return e, nil
}

// Keep gives up passing it on.
func (e *Estate) Keep() {
	_ = e.mine.Close()
	_ = e.Dials.Close()
}

// Release has the successor take the agents. What this process has dialled stays its own
// until it ends; what it has to dial from now on the successor dials.
func (e *Estate) Release() {
	_ = e.Dials.Close()
	e.n.mu.Lock()
	e.n.heir = &heir{conn: e.mine}
	l := e.n.listener
	close(e.n.changed) // whoever waits for a node asks the successor
	e.n.changed = make(chan struct{})
	e.n.mu.Unlock()
	if l != nil {
		l.leave()
	}
	e.n.hub.Release()
}

// pair is a pair of connected sockets: one for this process, one to be passed on.
func pair(kind int) (mine *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "dials")
	if mine, err = unixConn(os.NewFile(uintptr(fds[0]), "dials")); err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return mine, theirs, nil
}

// unixConn makes a connection of a file, which it closes.
func unixConn(f *os.File) (*net.UnixConn, error) {
	defer func() { _ = f.Close() }()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("take a socket over: %w", err)
	}
	uc, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close()
		return nil, errors.New("take a socket over: it is no Unix socket")
	}
	return uc, nil
}
