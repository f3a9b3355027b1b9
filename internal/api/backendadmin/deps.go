package backendadmin

import (
	"context"
	"errors"
	"log/slog"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/backend/hosting/pool"
)

// Leases is what is asked of the hosting beside the protocol.
type Leases interface {
	Inspect(ctx context.Context, lease string) (*hosting.Inspection, error)
	Matching(prefix string, limit int) (leases []string, more bool)
	Retained(after string, limit int) (sets []hosting.VolumeSet, more bool)
	CountByStatus() map[backend.ProvisionStatus]int
	Draining() hosting.Drain
	Drain(ctx context.Context, on bool) (hosting.Drain, error)
}

// Callbacks tells how it stands with those of a lease.
type Callbacks interface {
	Look(ctx context.Context, lease string) (outbox.State, error)
}

var (
	_ Leases    = (*hosting.Hosting)(nil)
	_ Callbacks = (*outbox.Outbox)(nil)
)

// Deps is what the API stands on. All but Notes and Logger are needed.
type Deps struct {
	Backend   backend.Backend // as it is served
	Leases    Leases
	Callbacks Callbacks
	Capacity  func() pool.Stats
	Version   string
	Notes     []string // see server.Config
	AdminUID  int      // the daemon's own user
	Logger    *slog.Logger
}

func (d *Deps) check() error {
	if d.Backend == nil || d.Leases == nil || d.Callbacks == nil || d.Capacity == nil {
		return errors.New("the operator's API needs a backend, its leases, its callbacks and its capacity")
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}
