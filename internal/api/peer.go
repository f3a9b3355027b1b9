package api

import (
	"context"
	"net"

	"golang.org/x/sys/unix"
)

// Peer is the process at the other end of the Unix socket, as the kernel
// reports it.
type Peer struct {
	UID, GID int
	PID      int
}

type peerKey struct{}

// WithPeer returns a context that carries the peer.
func WithPeer(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// PeerFrom is the peer of a request's connection; false when it is not known,
// which no rule but RulePublic accepts.
func PeerFrom(ctx context.Context) (Peer, bool) {
	p, ok := ctx.Value(peerKey{}).(Peer)
	return p, ok
}

// ConnContext puts the peer of a Unix connection into the context of its
// requests. It is meant for [net/http.Server.ConnContext].
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return ctx
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil || credErr != nil {
		return ctx
	}
	return WithPeer(ctx, Peer{UID: int(cred.Uid), GID: int(cred.Gid), PID: int(cred.Pid)})
}
