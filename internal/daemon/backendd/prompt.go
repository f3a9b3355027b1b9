package backendd

import (
	"context"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/server"
)

// prompt is the hosting as it is served: what somebody asked for is begun at once,
// also where the lease waits because it failed.
type prompt struct {
	*hosting.Hosting
	firewall *firewall // nil where it is off
	notes    func() []string
	wake     func(lease string)
}

var (
	_ backend.Backend        = (*prompt)(nil)
	_ backend.ProvisionPager = (*prompt)(nil)
	_ backend.RetentionPager = (*prompt)(nil)
	_ server.StatsSource     = (*prompt)(nil)
	_ server.Drainer         = (*prompt)(nil)
	_ server.Noter           = (*prompt)(nil)
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

// Restore implements backend.Backend.
func (p *prompt) Restore(ctx context.Context, req backend.RestoreRequest) error {
	return p.woken(req.LeaseUUID, p.Hosting.Restore(ctx, req))
}

// Deprovision implements backend.Backend.
func (p *prompt) Deprovision(ctx context.Context, lease string) error {
	return p.woken(lease, p.Hosting.Deprovision(ctx, lease))
}

// Health implements backend.Backend. A backend that cannot keep leases apart starts none.
func (p *prompt) Health(ctx context.Context) error {
	if p.firewall != nil {
		if err := p.firewall.Ensure(ctx); err != nil {
			return err
		}
	}
	return p.Hosting.Health(ctx)
}

// GetStats implements server.StatsSource.
func (p *prompt) GetStats(context.Context) (*server.Stats, error) {
	return p.Stats().Wire(), nil
}

// Draining implements server.Drainer.
func (p *prompt) Draining() bool { return p.Hosting.Draining().On }

// Notes implements server.Noter.
func (p *prompt) Notes() []string { return p.notes() }
