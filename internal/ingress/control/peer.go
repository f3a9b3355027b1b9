package control

import (
	"context"
	"net"
	"net/http"
	"os"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

type peerKey struct{}

// withPeer notes the user at the other end of the socket, as the kernel says.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return ctx
	}
	var cred *unix.Ucred
	if raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}) != nil || err != nil {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, cred.Uid)
}

// requirePeer lets allowed users through; one that is not known is not.
func requirePeer(allow func(uid uint32) bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		uid, known := r.Context().Value(peerKey{}).(uint32)
		if !known || !allow(uid) {
			answer(w, http.StatusForbidden, table.Problem{Code: "forbidden", Message: "only root and the data plane's own user may use this socket"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func rootOrSelf(uid uint32) bool { return uid == 0 || uint64(uid) == uint64(os.Getuid()) }
