package backendd

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/egress"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/internal/daemon"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/provider/docker"
)

// callbackPrefix is where the outbox keeps its records.
const callbackPrefix = "callbacks"

// How a lease is tried again that failed. The ceiling bounds how long one waits for
// an engine that has come back.
const (
	passBase    = 200 * time.Millisecond
	passCeiling = 15 * time.Second
)

// wire connects the floors. It makes no call of the engine: one that does not answer
// keeps leases from changing, and nobody from asking.
func (b *backendd) wire(ctx context.Context) error {
	key, err := hmacauth.NewKey(b.set.Callback.RevealString())
	if err != nil {
		return fmt.Errorf("the secret of callbacks: %w", err)
	}
	box, err := outbox.New(outbox.Config{
		Store: b.state, Prefix: callbackPrefix, Key: key, Client: egress.Client(b.set.Egress, outbox.SendTimeout),
		Logger: b.logger, Metrics: b.metrics.outbox,
	})
	if err != nil {
		return err
	}
	b.outbox = outbox.NewPost(box, b.forgetSent, b.logger)
	b.pool, err = pool.New(b.set.Pool)
	if err != nil {
		return err
	}
	b.metrics.watchPool(b.pool)
	b.docker, err = docker.New(docker.Options{
		Host: b.set.Docker, Owner: b.instance, Prefix: b.set.NetworkPrefix, State: b.state, PublicHost: b.set.Host,
		Pool: b.set.NetworkPool, Bridges: bridges(b.instance), HostRoutes: daemon.HostRoutes, Logger: b.logger,
	})
	if err != nil {
		return err
	}
	cfg := b.hostingConfig()
	if cfg.Ingress, err = b.ingress(ctx); err == nil {
		b.hosting, err = hosting.Open(ctx, cfg)
	}
	if err != nil {
		_ = b.docker.Close()
		return err
	}
	b.engine = reconcile.New(b.factory, reconcile.Config{
		Workers: b.set.Workers, List: b.keys, Logger: b.logger,
		Backoff: reconcile.Backoff{Base: passBase, Ceiling: passCeiling},
	})
	return nil
}

func (b *backendd) hostingConfig() hosting.Config {
	cfg := hosting.Config{
		Name: b.set.Name, Provider: b.docker, Store: b.state, Outbox: handOver{b.outbox}, SKUs: b.set.SKUs, Pool: b.pool, Images: b.set.Images,
		Target: func(url string) error {
			_, err := b.set.Egress.ParseTarget(url)
			return err
		},
		BindAddress: b.set.BindAddress, Host: b.set.Host, NewID: uuid.NewString, Now: time.Now, Logger: b.logger, Timing: b.set.Timing,
		Retention: b.set.Retention,
	}
	if b.firewall != nil {
		cfg.Guard = b.firewall
	}
	return cfg
}

// handOver is the outbox as hosting knows it.
type handOver struct{ *outbox.Post }

var _ hosting.Outbox = handOver{}

// Add implements hosting.Outbox.
func (o handOver) Add(ctx context.Context, op, lease, url string, payload backend.CallbackPayload) error {
	return o.Post.Add(ctx, lease, url, op, payload)
}
