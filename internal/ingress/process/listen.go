package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Why an address cannot be listened on.
var (
	ErrAddressTaken = errors.New("address already in use")
	ErrNotAllowed   = errors.New("not allowed to listen")
)

// listenAll opens all addresses or none.
func listenAll(ctx context.Context, addresses []string) ([]net.Listener, error) {
	if len(addresses) == 0 {
		return nil, errors.New("no address to listen on; give one with --http, :80 for example")
	}
	var ls []net.Listener
	for _, a := range addresses {
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", a)
		if err != nil {
			closeAll(ls)
			return nil, explainListen(a, err)
		}
		ls = append(ls, l)
	}
	return ls, nil
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

func closeAll(ls []net.Listener) {
	for _, l := range ls {
		_ = l.Close()
	}
}
