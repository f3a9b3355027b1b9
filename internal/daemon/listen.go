package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// ListenTCP listens on the address that a setting has, and says of what goes wrong what to
// do about it.
func ListenTCP(ctx context.Context, setting, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot listen on %s: %w%s", setting, address, err, listenAdvice(setting, address, err))
	}
	return l, nil
}

func listenAdvice(setting, address string, err error) string {
	_, port, _ := net.SplitHostPort(address)
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Sprintf("; another process has this address (ss -ltnp 'sport = :%s' shows it): end that one, or write another port for %s", port, setting)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return fmt.Sprintf("; no interface of this machine has this address (ip addr shows those there are): write one of them for %s, or 0.0.0.0:%s for all", setting, port)
	case errors.Is(err, unix.EACCES):
		return fmt.Sprintf("; this user may not have port %s: write one from 1024 on for %s, or give the process CAP_NET_BIND_SERVICE", port, setting)
	}
	return fmt.Sprintf("; write an address of this machine and a port for %s, 127.0.0.1:9001 for example", setting)
}
