package backendd

import (
	"context"
	"io"
	"time"

	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/resolvable"
	"github.com/berth-cloud/berth/internal/daemon"
	"github.com/berth-cloud/berth/internal/daemon/backendd/routes"
	"github.com/berth-cloud/berth/internal/ingress/controlclient"
)

// claimPlane keeps the data plane to this backend, where there is one.
func (b *backendd) claimPlane(ctx context.Context) (io.Closer, error) {
	if b.set.Ingress == nil {
		return nil, nil
	}
	return daemon.Unlocked(ctx, func() (io.Closer, error) { return routes.Claim(ctx, b.set.Ingress.Control) })
}

// ingress is how leases are reached by name; nil where they are not. It dials nothing:
// a data plane that does not answer is waited for.
func (b *backendd) ingress(ctx context.Context) (*hosting.Ingress, error) {
	set := b.set.Ingress
	if set == nil {
		return nil, nil
	}
	gate, err := resolvable.New(set.Gate)
	if err != nil {
		return nil, err
	}
	facts, err := daemon.Facts(ctx)
	if err != nil {
		return nil, err
	}
	b.plane = controlclient.New(set.Control)
	b.routes = routes.New(routes.Config{
		Plane: b.plane, Store: b.state, Facts: daemon.Facts, Now: time.Now, Logger: b.logger,
		Wake:    func(lease string) { b.engine.Enqueue(leaseKey(lease)) },
		Reached: b.planeReached,
	})
	b.metrics.watchRoutes(b.routes)
	return &hosting.Ingress{Wildcard: set.WildcardDomain, Gate: gate, Router: b.routes, Machine: facts.BootID}, nil
}
