package backendd

import (
	"net/http"
	"os"

	"github.com/berth-cloud/berth/internal/api/backendadmin"
)

// SocketName is the operator's socket in the data directory.
const SocketName = "backend.sock"

// operator is what the operator's socket answers.
func (b *backendd) operator() (http.Handler, error) {
	return backendadmin.New(backendadmin.Deps{
		Backend: b.served(), Leases: b.hosting, Callbacks: b.outbox, Capacity: b.pool.Stats,
		Version: b.opts.Version, AdminUID: os.Getuid(), Logger: b.logger,
	})
}
