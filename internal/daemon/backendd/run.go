package backendd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/netutil"

	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/daemon"
	"github.com/berth-cloud/berth/internal/daemon/backendd/routes"
	"github.com/berth-cloud/berth/internal/daemon/backendd/settings"
	"github.com/berth-cloud/berth/internal/ingress/controlclient"
	"github.com/berth-cloud/berth/internal/node"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/store/sqlite"
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
	// FirewallOnly sets the firewall up as the file says, and ends.
	FirewallOnly bool
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
}

// Run is a backend from start to end. It returns nil after ctx is done, the requests
// that were under way are answered, and everything of this process has ended; leases
// run on. What is wrong in the file is settings.ErrInvalid; a data directory that
// another process holds is store.ErrLocked.
func Run(ctx context.Context, opts Options, logger *slog.Logger) error {
	if opts.ConfigFile == "" || opts.DataDir == "" {
		return errors.New("a file of settings and a data directory are needed")
	}
	set, err := settings.Load(opts.ConfigFile)
	if err != nil {
		return err
	}
	if opts.DataDir, err = filepath.Abs(opts.DataDir); err != nil {
		return err
	}
	if opts.Socket == "" {
		opts.Socket = filepath.Join(opts.DataDir, SocketName)
	}
	b := &backendd{set: set, opts: opts, logger: logger, registry: prometheus.NewRegistry()}
	b.metrics = newMetrics(b.registry)
	st, err := daemon.Unlocked(ctx, func() (*sqlite.Store, error) {
		return sqlite.Open(ctx, sqlite.Options{Dir: opts.DataDir, Logger: logger})
	})
	if err != nil {
		return err
	}
	defer func() {
		if err := st.Close(); err != nil {
			logger.Error("close the store", "error", err)
		}
	}()
	if b.instance, err = st.InstanceID(ctx); err != nil {
		return err
	}
	claim, err := daemon.Unlocked(ctx, func() (io.Closer, error) { return daemon.ClaimInstance(ctx, b.instance, opts.DataDir) })
	if err != nil {
		return err
	}
	defer func() { _ = claim.Close() }()
	if opts.Node == nil {
		opts.Node = &node.Local{}
	}
	if b.firewall, err = isolate(ctx, b.instance, set, opts.Node, b.metrics.repairs, logger); err != nil || opts.FirewallOnly {
		return err
	}
	planes, err := b.claimPlane(ctx)
	if err != nil {
		return err
	}
	if planes != nil {
		defer func() { _ = planes.Close() }()
	}
	b.state = daemon.StateStore(st)
	if err := b.wire(ctx); err != nil {
		return err
	}
	defer func() { _ = b.docker.Close() }()
	if b.plane != nil {
		defer b.plane.Close()
	}
	return b.serve(ctx)
}

// serve runs every part until ctx is done or one fails, then ends the others.
func (b *backendd) serve(ctx context.Context) error {
	handler, err := b.handler()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", b.set.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", b.set.Listen, err)
	}
	operator, local, err := b.operator(ctx)
	if err != nil {
		_ = listener.Close()
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	part := func(name string, run func(ctx context.Context) error) {
		wg.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	part("server", func(ctx context.Context) error {
		return b.listen(ctx, netutil.LimitListener(listener, maxConns), &http.Server{
			Handler: handler, TLSConfig: b.set.TLS(), ReadHeaderTimeout: headerTimeout,
		})
	})
	// Not limited: a connection that was wrapped does not tell who is at its other end,
	// and only the operator can connect.
	part("operator", func(ctx context.Context) error {
		return b.listen(ctx, local, &http.Server{
			Handler: operator, ConnContext: api.ConnContext, ReadHeaderTimeout: headerTimeout,
		})
	})
	part("engine", b.engine.Run)
	part("callbacks", b.outbox.Run)
	if b.firewall != nil {
		part("firewall", b.firewall.watch)
	}
	if b.routes != nil {
		part("routes", func(ctx context.Context) error { return b.routes.Run(ctx, b.hosting.Routes) })
	}
	part("events", func(ctx context.Context) error {
		b.engine.Watch(ctx, "leases", b.watch, nil)
		return nil
	})
	b.logger.InfoContext(ctx, "the backend serves", "name", b.set.Name, "address", listener.Addr().String(), "tls", b.set.TLS() != nil,
		"data", b.opts.DataDir, "socket", b.opts.Socket, "instance", b.instance, "version", b.opts.Version)
	if b.opts.Serving != nil {
		b.opts.Serving(listener.Addr())
	}
	<-ctx.Done()
	wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
