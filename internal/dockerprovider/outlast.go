package dockerprovider

import (
	"context"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// afterwards is how long a call that makes something is waited for once its
// caller has given up.
const afterwards = 3 * time.Second

// outlast is ctx, ending later. An engine goes on with a call whose caller has
// left, and what it makes then nobody has seen: it is missed by a Deprovision, and
// of two networks of one name neither can be used. So calls that make something
// are waited for.
func outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(afterwards)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(context.Cause(ctx))
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel(nil)
	}
}

// Create implements docker.Runtime.
func (c *counting) Create(ctx context.Context, spec docker.ContainerSpec) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	longer, cancel := outlast(ctx)
	defer cancel()
	return c.Runtime.Create(longer, spec)
}

// CreateNetwork implements docker.Runtime.
func (c *counting) CreateNetwork(ctx context.Context, spec docker.NetworkSpec) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	longer, cancel := outlast(ctx)
	defer cancel()
	return c.Runtime.CreateNetwork(longer, spec)
}

// EnsureVolume implements docker.Runtime.
func (c *counting) EnsureVolume(ctx context.Context, spec docker.VolumeSpec) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	longer, cancel := outlast(ctx)
	defer cancel()
	return c.Runtime.EnsureVolume(longer, spec)
}
