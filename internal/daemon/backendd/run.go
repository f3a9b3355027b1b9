package backendd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/internal/daemon"
	"github.com/berth-cloud/berth/internal/daemon/backendd/routes"
	"github.com/berth-cloud/berth/internal/daemon/backendd/settings"
	"github.com/berth-cloud/berth/internal/ingress/controlclient"
	"github.com/berth-cloud/berth/internal/node"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/docker"
)

// Options is where a backend is.
type Options struct {
	ConfigFile string
	DataDir    string // the store; one process at a time holds it
	Socket     string // of the operator; "" is SocketName in DataDir
	Version    string
	// Node is the machine that leases run on; nil is this one.
	Node node.Host
	// FirewallOnly sets the firewall up as the file says, and ends. It needs the data
	// directory for itself, as a backend that serves does.
	FirewallOnly bool
	// Place is where backends learn of each other; "" is the machine.
	Place string
	// Serving is told the address once requests are taken; nil is nobody.
	Serving func(net.Addr)
}

// backendd is one running backend.
type backendd struct {
	set      *settings.Settings
	opts     Options
	logger   *slog.Logger
	metrics  *metrics
	registry *prometheus.Registry

	instance string
	state    provider.StateStore
	docker   *docker.Provider
	pool     *pool.Pool
	outbox   *outbox.Post
	hosting  *hosting.Hosting
	firewall *firewall             // nil where it is off
	plane    *controlclient.Client // nil: leases are reached by their ports alone
	routes   *routes.Pusher        // nil as well
	engine   *reconcile.Engine

	held     []func() error // ends them, in the order of their claim
	past     past
	shares   bool             // networks of another backend, from before that was refused
	engineAt *daemon.Presence // the Docker engine
	planeAt  *daemon.Presence // the data plane
}

// Run is a backend from start to end. It returns nil after ctx is done, the requests
// that were under way are answered, and everything of this process has ended; leases
// run on. What is wrong in the file is settings.ErrInvalid; a data directory that
// another process holds is store.ErrLocked, one of a server daemon.ErrRole; networks that
// another backend of the machine has are daemon.ErrNeighbour.
func Run(ctx context.Context, opts Options, logger *slog.Logger) error {
	b, err := prepare(opts, logger)
	if err != nil {
		return err
	}
	defer b.letGo()
	if err := b.claim(ctx); err != nil {
		return err
	}
	if opts.FirewallOnly {
		return b.isolate(ctx)
	}
	// A backend that fails to start leaves no rules behind, unless there may be leases:
	// those are not left without.
	if b.past.leases {
		if err := b.isolate(ctx); err != nil {
			return err
		}
	}
	if err := b.connect(ctx); err != nil {
		return err
	}
	l, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	if !b.past.leases {
		if err := b.isolate(ctx); err != nil {
			return err
		}
	}
	if err := b.remember(ctx); err != nil {
		return err
	}
	return b.serve(ctx, l)
}

func prepare(opts Options, logger *slog.Logger) (*backendd, error) {
	if opts.ConfigFile == "" || opts.DataDir == "" {
		return nil, errors.New("a file of settings and a data directory are needed")
	}
	set, err := settings.Load(opts.ConfigFile)
	if err != nil {
		return nil, err
	}
	if opts.DataDir, err = filepath.Abs(opts.DataDir); err != nil {
		return nil, err
	}
	if opts.Socket == "" {
		opts.Socket = filepath.Join(opts.DataDir, SocketName)
	}
	if opts.Node == nil {
		opts.Node = &node.Local{}
	}
	if opts.Place == "" {
		opts.Place = daemon.DefaultPlace
	}
	b := &backendd{set: set, opts: opts, logger: logger, registry: prometheus.NewRegistry()}
	b.metrics = newMetrics(b.registry)
	b.follow()
	return b, nil
}

// isolate sets the firewall up as the file says.
func (b *backendd) isolate(ctx context.Context) (err error) {
	b.firewall, err = isolate(ctx, b.instance, b.set, b.opts.Node, b.metrics.repairs, b.logger)
	return err
}

// connect claims the data plane and wires the floors.
func (b *backendd) connect(ctx context.Context) error {
	planes, err := b.claimPlane(ctx)
	if err != nil {
		return err
	}
	if planes != nil {
		b.hold(planes.Close)
	}
	if err := b.wire(ctx); err != nil {
		return err
	}
	b.hold(b.docker.Close)
	if b.plane != nil {
		b.hold(func() error { b.plane.Close(); return nil })
	}
	return nil
}
