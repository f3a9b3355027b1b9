package backendd

import (
	"context"
	"net"
	"net/http"
	"os"

	"github.com/berth-cloud/berth/internal/api/backendadmin"
	"github.com/berth-cloud/berth/internal/daemon"
)

// SocketName is the operator's socket in the data directory.
const SocketName = "backend.sock"

// operator is what the operator's socket answers, and the socket. The data directory
// is held by then, so that a socket in it that nobody serves was left behind.
func (b *backendd) operator(ctx context.Context) (http.Handler, net.Listener, error) {
	handler, err := backendadmin.New(backendadmin.Deps{
		Backend: b.served(), Leases: b.hosting, Callbacks: b.outbox, Capacity: b.pool.Stats,
		Version: b.opts.Version, Notes: b.notes(), AdminUID: os.Getuid(), Logger: b.logger,
	})
	if err != nil {
		return nil, nil, err
	}
	l, err := daemon.ListenUnix(ctx, b.opts.Socket)
	return handler, l, err
}
