package instrument

import (
	"context"
	"fmt"
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

// kept is there when the wrapped provider has one of its two interfaces.
type kept struct{ c *core }

func (k kept) KeptVolumes(ctx context.Context, tenantID string) ([]provider.KeptVolume, error) {
	return call(ctx, k.c, "KeptVolumes", id.Nil, func(ctx context.Context) ([]provider.KeptVolume, error) {
		p, ok := k.c.p.(provider.VolumeKeeper)
		if !ok {
			return nil, k.lacks("volumes that stay")
		}
		return p.KeptVolumes(ctx, tenantID)
	})
}

func (k kept) RemoveKeptVolume(ctx context.Context, tenantID, volumeID string) error {
	return run(ctx, k.c, "RemoveKeptVolume", id.Nil, func(ctx context.Context) error {
		p, ok := k.c.p.(provider.VolumeKeeper)
		if !ok {
			return k.lacks("volumes that stay")
		}
		return p.RemoveKeptVolume(ctx, tenantID, volumeID)
	})
}

func (k kept) KeptVolumeUsage(ctx context.Context, tenantID string, volumeIDs []string) (map[string]int64, error) {
	return call(ctx, k.c, "KeptVolumeUsage", id.Nil, func(ctx context.Context) (map[string]int64, error) {
		p, ok := k.c.p.(provider.VolumeKeeper)
		if !ok {
			return nil, k.lacks("volumes that stay")
		}
		return p.KeptVolumeUsage(ctx, tenantID, volumeIDs)
	})
}

func (k kept) InspectImage(ctx context.Context, ref string) (*provider.ImageInfo, error) {
	return call(ctx, k.c, "InspectImage", id.Nil, func(ctx context.Context) (*provider.ImageInfo, error) {
		p, ok := k.c.p.(provider.ImageInspector)
		if !ok {
			return nil, k.lacks("looking into images")
		}
		return p.InspectImage(ctx, ref)
	})
}

func (k kept) lacks(what string) error {
	return fmt.Errorf("%s by %s: %w", what, k.c.typeName, provider.ErrNotSupported)
}

type watch struct{ c *core }

func (w watch) Watch(ctx context.Context, ready func(), fn func(id.ID)) error {
	return run(ctx, w.c, "Watch", id.Nil, func(ctx context.Context) error {
		return w.c.p.(provider.Watcher).Watch(ctx, ready, fn)
	})
}
