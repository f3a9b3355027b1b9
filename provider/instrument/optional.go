package instrument

import (
	"context"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// One type for each optional interface. combine embeds one beside core only when
// the wrapped provider has the interface, so the assertions in them hold.

type health struct{ c *core }

func (h health) HealthCheck(ctx context.Context) (*provider.HealthStatus, error) {
	return call(ctx, h.c, "HealthCheck", id.Nil, h.c.p.(provider.HealthChecker).HealthCheck)
}

type readiness struct{ c *core }

// ReadinessPolicy makes no call, and is not measured.
func (r readiness) ReadinessPolicy() provider.ReadinessPolicy {
	return r.c.p.(provider.ReadinessWaiter).ReadinessPolicy()
}

type step struct{ c *core }

func (s step) Step(ctx context.Context, instanceID id.ID) (time.Duration, error) {
	return call(ctx, s.c, "Step", instanceID, func(ctx context.Context) (time.Duration, error) {
		return s.c.p.(provider.Stepper).Step(ctx, instanceID)
	})
}

type watch struct{ c *core }

func (w watch) Watch(ctx context.Context, ready func(), fn func(id.ID)) error {
	return run(ctx, w.c, "Watch", id.Nil, func(ctx context.Context) error {
		return w.c.p.(provider.Watcher).Watch(ctx, ready, fn)
	})
}
