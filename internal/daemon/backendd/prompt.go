package backendd

import (
	"context"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/backend/server"
)

// prompt is the hosting as it is served: what somebody asked for is begun at once,
// also where the lease waits because it failed.
type prompt struct {
	*hosting.Hosting
	pool *pool.Pool
	wake func(lease string)
}

var (
	_ backend.Backend        = (*prompt)(nil)
	_ backend.ProvisionPager = (*prompt)(nil)
	_ server.StatsSource     = (*prompt)(nil)
)

func (p *prompt) woken(lease string, err error) error {
	if err == nil {
		p.wake(lease)
	}
	return err
}

// Provision implements backend.Backend.
func (p *prompt) Provision(ctx context.Context, req backend.ProvisionRequest) error {
	return p.woken(req.LeaseUUID, p.Hosting.Provision(ctx, req))
}

// Restart implements backend.Backend.
func (p *prompt) Restart(ctx context.Context, req backend.RestartRequest) error {
	return p.woken(req.LeaseUUID, p.Hosting.Restart(ctx, req))
}

// Update implements backend.Backend.
func (p *prompt) Update(ctx context.Context, req backend.UpdateRequest) error {
	return p.woken(req.LeaseUUID, p.Hosting.Update(ctx, req))
}

// Deprovision implements backend.Backend.
func (p *prompt) Deprovision(ctx context.Context, lease string) error {
	return p.woken(lease, p.Hosting.Deprovision(ctx, lease))
}

// GetStats implements server.StatsSource.
func (p *prompt) GetStats(context.Context) (*server.Stats, error) { return p.pool.Stats().Wire(), nil }
