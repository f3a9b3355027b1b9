package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Why an address cannot be listened on.
var (
	ErrAddressTaken = errors.New("address already in use")
	ErrNotAllowed   = errors.New("not allowed to listen")
)

// listener is a listening socket and the address it was asked for by.
type listener struct {
	*net.TCPListener
	asked string
}

// listenAll opens all addresses or none. One that inherited has is taken from
// there.
func listenAll(ctx context.Context, addresses []string, inherited func(name string) *os.File) ([]listener, error) {
	if len(addresses) == 0 {
		return nil, errors.New("no address to listen on; give one with --http, :80 for example")
	}
	var ls []listener
	for _, a := range addresses {
		l, err := listen(ctx, a, inherited(httpHeirloom+a))
		if err != nil {
			closeAll(ls)
			return nil, explainListen(a, err)
		}
		ls = append(ls, listener{l, a})
	}
	return ls, nil
}

func listen(ctx context.Context, address string, f *os.File) (*net.TCPListener, error) {
	var l net.Listener
	var err error
	if f != nil {
		defer func() { _ = f.Close() }()
		l, err = net.FileListener(f)
	} else {
		var lc net.ListenConfig
		l, err = lc.Listen(ctx, "tcp", address)
	}
	if err != nil {
		return nil, err
	}
	tl, ok := l.(*net.TCPListener)
	if !ok {
		_ = l.Close()
		return nil, errors.New("it is no TCP socket")
	}
	return tl, nil
}

func explainListen(address string, err error) error {
	_, port, _ := net.SplitHostPort(address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("listen on %s: %w: another process has it; `ss -ltnp 'sport = :%s'` shows which. Stop it, or give another address with --http", address, ErrAddressTaken, port)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("listen on %s: %w: ports below 1024 need root or CAP_NET_BIND_SERVICE; give the process that, or another address with --http", address, ErrNotAllowed)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("listen on %s: this machine has no such address: %w; give one of its own, or only a port, with --http", address, err)
	}
	return fmt.Errorf("listen on %s: %w", address, err)
}

func closeAll(ls []listener) {
	for _, l := range ls {
		_ = l.Close()
	}
}
