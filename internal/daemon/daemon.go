package daemon

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/api/workloads"
	"github.com/berth-cloud/berth/internal/applogs"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/engine"
	"github.com/berth-cloud/berth/internal/dockerprovider"
	"github.com/berth-cloud/berth/internal/fleet"
	"github.com/berth-cloud/berth/internal/ingress/controlclient"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/reconcile/ingress"
	"github.com/berth-cloud/berth/internal/reconcile/nodes"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/store/sqlite"
	"github.com/berth-cloud/berth/provider"
)

// daemon is one running control plane.
type daemon struct {
	cfg       Config
	logger    *slog.Logger
	store     store.Store
	runtime   docker.Runtime
	instance  string
	vault     *vault
	memory    *application.Memory
	puller    *application.Puller
	options   []application.Option
	docker    *dockerprovider.Driver
	registry  *provider.Registry
	workloads *workloads.Service
	engine    *reconcile.Engine
	link      *ingress.Link
	pusher    *ingress.Pusher
	super     *supervisor
	lost      chan struct{}
	engineAt  *Presence
	machines  *machines // nil: none
	members   *members  // nil: none
	fleet     *fleet.Fleet
	nodes     *nodes.Nodes
	cluster   *ingress.ClusterPusher // nil: the data plane takes no agents
	server    *api.Server
}

// Run is a control plane from start to end. It returns nil after ctx is done
// and everything that runs in this process has ended; the data plane stays.
func Run(ctx context.Context, cfg Config, logger *slog.Logger) error {
	if err := cfg.complete(); err != nil {
		return err
	}
	if err := CheckRole(cfg.DataDir, RoleServer); err != nil {
		return err
	}
	st, err := unlocked(ctx, func() (*sqlite.Store, error) {
		return sqlite.Open(ctx, sqlite.Options{Dir: cfg.DataDir, Logger: logger})
	})
	if err != nil {
		return err
	}
	defer func() {
		if err := st.Close(); err != nil {
			logger.Error("close the store", "error", err)
		}
	}()
	if err := SettleRole(ctx, cfg.DataDir, RoleServer, st, logger); err != nil {
		return err
	}
	rt, err := engine.New(engine.Options{Host: cfg.DockerHost, Logger: logger})
	if err != nil {
		return err
	}
	defer func() { _ = rt.Close() }()
	d := &daemon{
		cfg: cfg, logger: logger, store: st, runtime: rt, lost: make(chan struct{}, 1),
		vault: &vault{blobs: st.Secrets(), file: cfg.keyFile()}, engineAt: FollowEngine(cfg.DockerHost, "--docker", logger),
	}
	if d.instance, err = st.InstanceID(ctx); err != nil {
		return err
	}
	claim, err := unlocked(ctx, func() (io.Closer, error) { return claimInstance(ctx, d.instance, cfg.DataDir) })
	if err != nil {
		return err
	}
	defer func() { _ = claim.Close() }()
	if d.machines, err = openMachines(ctx, &d.cfg, machineDeps{
		providers: machineProviders(), holder: nodeRoles{d}, drainer: nodeRoles{d}, denied: d.denied,
	}, logger); err != nil {
		return err
	}
	defer d.machines.close()
	plane := controlclient.New(cfg.controlSocket())
	defer plane.Close()
	d.wireNodes()
	defer d.closeNodes()
	d.wire(plane)
	defer d.puller.Close()
	if err := d.wireProviders(); err != nil {
		return err
	}
	defer d.closeProviders()
	listener, err := ListenUnix(ctx, cfg.Socket)
	if err != nil {
		return err
	}
	if d.server, err = d.api(); err != nil {
		_ = listener.Close()
		return err
	}
	return d.serve(ctx, listener, d.server)
}

// passCeiling is the longest wait after a pass that failed. Requests may be held
// meanwhile: a service that is replaced in place has nothing that serves.
const passCeiling = 5 * time.Second

// wire connects the floors.
func (d *daemon) wire(plane *controlclient.Client) {
	wake := func(service string) { d.engine.Kick(serviceKey(service)) }
	d.memory = application.NewMemory(nil)
	d.puller = application.NewPuller(time.Now, wake)
	d.puller.Logger = d.logger
	d.link = ingress.NewLink(plane, d.logger, wake, d.freshPlane, d.lostPlane)
	d.pusher = &ingress.Pusher{Store: d.store, Plane: plane, Link: d.link, Facts: facts, Wake: wake}
	if d.machines != nil && d.machines.plane != nil {
		d.cluster = &ingress.ClusterPusher{Credentials: d.machines.plane, Plane: plane, Link: d.link}
	}
	d.super = &supervisor{cfg: &d.cfg, hello: plane.Hello, logger: d.logger}
	d.options = []application.Option{
		application.WithInstanceID(d.instance),
		application.WithNetworkPrefix(d.cfg.NetworkPrefix),
		application.WithMemory(d.memory),
		application.WithPuller(d.puller),
		application.WithSecrets(appSecrets{d.vault}),
		application.WithLogger(d.logger),
		application.WithIngressView(d.link.View),
		application.WithHostPaths(d.cfg.hostPath),
		application.WithNetworks(&application.Networks{
			Store: d.store, Runtime: d.fleet.All(), Instance: d.instance, Prefix: d.cfg.NetworkPrefix,
			Pool: d.cfg.Pool, HostRoutes: hostRoutes, Now: time.Now,
		}),
		application.WithProber(application.DialProber{Dialer: d.fleet}),
	}
	d.engine = reconcile.New(d.factory, reconcile.Config{
		Workers: d.cfg.Workers, List: d.keys, Store: d.store, Logger: d.logger,
		Backoff: reconcile.Backoff{Base: 100 * time.Millisecond, Ceiling: passCeiling},
	})
}

// freshPlane gives a new data plane its table, and every service a look at it.
func (d *daemon) freshPlane() {
	d.engine.Enqueue(ingress.Key)
	d.engine.Enqueue(ingress.ClusterKey)
	d.engine.Resync()
}

func (d *daemon) lostPlane() {
	select {
	case d.lost <- struct{}{}:
	default:
	}
}

func (d *daemon) api() (*api.Server, error) {
	return api.New(api.Deps{
		Store: d.store, Logs: applogs.New(d.fleet.All(), d.store, d.instance, d.logger),
		VolumeName: func(app, volume string) string {
			return application.VolumeName(d.cfg.NetworkPrefix, app, volume)
		},
		Engine: d.fleet.All(), Secrets: d.vault, Workloads: d.workloads, Nodes: d.nodesAPI(), Machines: d.machines.api(),
		Doctor: d.doctor, Wake: d.wakeServices, Listeners: d.listeners,
		Spec:     spec.Options{AllowHostPaths: d.cfg.AllowHostPaths, DenyHostPaths: d.cfg.deniedPaths()},
		Instance: d.instance, Version: d.cfg.Version, Revision: d.cfg.Revision, AdminUID: os.Getuid(), Logger: d.logger,
	})
}

func (d *daemon) wakeServices(names ...string) {
	for _, n := range names {
		d.engine.Enqueue(serviceKey(n))
	}
}

func (d *daemon) listeners() []string {
	h, _ := d.super.state()
	return h.Listeners
}

// serve runs every part until ctx is done or one fails, then ends the others.
func (d *daemon) serve(ctx context.Context, l net.Listener, server *api.Server) error {
	return Together(ctx, func(part Part) {
		part("api", func(ctx context.Context) error { return api.Serve(ctx, l, server) })
		part("engine", d.engine.Run)
		part("store changes", d.watchStore)
		part("engine events", func(ctx context.Context) error {
			d.engine.Watch(ctx, "docker events", d.watchEngine, d.missedEvents)
			return nil
		})
		part("provider events", d.watchProviders)
		part("data plane link", func(ctx context.Context) error { d.link.Run(ctx); return nil })
		part("data plane", func(ctx context.Context) error { d.super.run(ctx, d.lost); return nil })
		part("prune", d.prune)
		if d.machines != nil {
			part("machines", d.machines.run)
			part("nodes", d.members.run)
		}
		d.logger.InfoContext(ctx, "berthd serves", "socket", d.cfg.Socket, "data", d.cfg.DataDir, "instance", d.instance, "version", d.cfg.Version)
	})
}

const (
	pruneEvery = time.Hour
	pruneKeep  = 50
)

// prune bounds the history.
func (d *daemon) prune(ctx context.Context) error {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := d.store.Prune(ctx, pruneKeep); err != nil {
				d.logger.ErrorContext(ctx, "prune the history", "error", err)
			}
		}
	}
}
