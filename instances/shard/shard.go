package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/lead"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/instances/registration"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
)

// Options are what a shard is made of. All are required but where it says otherwise.
type Options struct {
	// ServerID names this server in its certificate, such as its host's name.
	ServerID string
	// Storage is the bucket, Secrets the cluster's.
	Storage storage.Storage
	Secrets secrets.Store
	// Loader reads the configuration; Open reads it once.
	Loader *config.Loader
	// Providers has the kind that the configuration names.
	Providers *infra.Registry
	// CacheDir is where the cache is: a file that may be deleted while nobody serves.
	CacheDir string
	// Alone is a shard with one server for ever and no controllers: nobody is elected,
	// groups are looked at by nobody, and what has to happen is asked of the Manager.
	Alone bool
	// Sole: no other process can be a server of this shard while this one is, as when all
	// is in a folder that one has locked. Whoever starts leads at once then, also after one
	// that was killed.
	Sole bool
	// Holder and Drainer know what runs on machines; nil is that nothing does.
	Holder  group.Holder
	Drainer group.Drainer
	// IngressAddr is where agents reach the data plane; empty is nowhere.
	IngressAddr string
	// ReloadEvery is how often the configuration is read again, and what was asked of
	// other servers. 10 seconds when 0.
	ReloadEvery time.Duration
	// DenyChanged is called, with no lock held, when certificates were denied; nil is nobody.
	DenyChanged func()
	// KeepEvery is how often is read what other servers change: authorities and denied
	// certificates. A minute when 0.
	KeepEvery time.Duration
	// Timing are the hub's deadlines.
	Timing hub.Timing
	Logger *slog.Logger     // nil is nowhere
	Now    func() time.Time // nil is the system's clock
}

// Shard is one shard in this process.
type Shard struct {
	Manager   *instances.Manager
	Hub       *hub.Hub
	Authority *ca.Authority

	opts    Options
	conf    *config.Config // when it was opened, for what never changes
	objects storage.Storage
	elector *lead.Elector // nil where the shard is Alone
	db      *localdb.DB
	cert    *serverCert
	log     *slog.Logger
	ids     id.Generator
	history history
	turn    atomic.Pointer[turn] // nil while this process does not lead
}

// Open prepares a shard. Close it when done.
func Open(ctx context.Context, opts Options) (_ *Shard, err error) {
	if err := opts.fill(); err != nil {
		return nil, err
	}
	s := &Shard{opts: opts, log: opts.Logger, ids: id.Generator{Now: opts.Now}}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if err := opts.Loader.Refresh(ctx); err != nil {
		return nil, err
	}
	conf := opts.Loader.Current()
	s.conf = conf
	s.objects = storage.Scoped(opts.Storage, "shard/"+conf.Shard.Name)
	if s.Authority, err = s.authority(ctx, conf); err != nil {
		return nil, err
	}
	if s.cert, err = newServerCert(s.Authority, opts.ServerID, conf, opts.Now); err != nil {
		return nil, err
	}
	if !opts.Alone {
		if s.elector, err = s.election(conf); err != nil {
			return nil, err
		}
	}
	if s.Manager, err = s.manager(ctx, conf); err != nil {
		return nil, err
	}
	s.Hub, err = hub.New(hub.Options{
		Certificate: s.cert.get, Roots: s.Authority.Pool, Deny: s.Manager,
		Log: s.log, Now: opts.Now, Timing: heartbeat(opts.Timing, conf),
	})
	return s, err
}

func (o *Options) fill() error {
	for what, missing := range map[string]bool{
		"ServerID": o.ServerID == "", "Storage": o.Storage == nil, "Secrets": o.Secrets == nil,
		"Loader": o.Loader == nil, "Providers": o.Providers == nil, "CacheDir": o.CacheDir == "",
	} {
		if missing {
			return fmt.Errorf("open shard: %s is needed", what)
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.ReloadEvery <= 0 {
		o.ReloadEvery = 10 * time.Second
	}
	if o.KeepEvery <= 0 {
		o.KeepEvery = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// authority opens the cluster's, which whoever comes first makes.
func (s *Shard) authority(ctx context.Context, conf *config.Config) (*ca.Authority, error) {
	ttl := conf.Certificates
	return ca.Open(ctx, ca.Options{
		Storage: s.opts.Storage, Secrets: s.opts.Secrets, ClusterID: conf.Cluster.ID, Now: s.opts.Now,
		TTL: ttl.CATTL.Std(), LeafTTL: max(ttl.ServerTTL.Std(), ttl.AgentTTL.Std(), ttl.OperatorTTL.Std()),
		Skew: conf.Shard.Timings.ClockSkew.Std(),
	})
}

func (s *Shard) manager(ctx context.Context, conf *config.Config) (*instances.Manager, error) {
	if err := instances.EnsureNonceKey(ctx, s.opts.Secrets); err != nil {
		return nil, err
	}
	at := conf.Shard.Provider
	provider, err := s.opts.Providers.Open(ctx, at.Kind, infra.Options{
		Owner:  infra.Owner{ClusterID: conf.Cluster.ID, Shard: conf.Shard.Name},
		Region: at.Region, Zone: at.Zone, Settings: at.Options, Logger: s.log, Now: s.opts.Now,
	})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.opts.CacheDir, 0o700); err != nil {
		return nil, fmt.Errorf("open shard: the folder of the cache: %w", err)
	}
	if s.db, err = localdb.Open(ctx, filepath.Join(s.opts.CacheDir, "machines.db")); err != nil {
		return nil, err
	}
	return instances.NewManager(instances.ManagerOptions{
		ConfigLoader: s.opts.Loader, SecretsStore: s.opts.Secrets, Storage: s.opts.Storage, LocalDB: s.db,
		Provider: provider, Authority: s.Authority, Logger: s.log, Term: s.leadership(), Clock: s.opts.Now,
		IngressAddr: s.opts.IngressAddr,
		Connected:   func(id string) bool { return s.Hub != nil && s.Hub.Online(id) },
		DenyChanged: func() {
			if s.Hub != nil {
				s.Hub.Recheck()
			}
			if s.opts.DenyChanged != nil {
				s.opts.DenyChanged()
			}
		},
	})
}

// Serve takes registrations and agents by these listeners, of TCP and before TLS, takes
// part in the election and, while this process leads, looks after the groups. It goes on
// until ctx is done, and closes the listeners. The error is nil when ctx was done.
// lead.ErrStuck is that the process should end.
func (s *Shard) Serve(ctx context.Context, registrations, agents net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	handler, err := registration.New(registration.Options{
		Registrar: registrar{s.Manager, s}, Verifier: s.Authority, Logger: s.log, Now: s.opts.Now,
	})
	if err != nil {
		return err
	}
	server, err := registration.NewServer(registration.ServerOptions{
		Handler: handler, Certificate: s.cert.get, Now: s.opts.Now, Logger: s.log,
	})
	if err != nil {
		return err
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { s.keep(ctx) })
	parts := []func() error{
		func() error { return s.Hub.Serve(ctx, agents) },
		func() error {
			err := server.ServeTLS(registration.Bound(registrations, 0, 0), "", "")
			if errors.Is(err, http.ErrServerClosed) {
				err = nil
			}
			return err
		},
	}
	if s.elector != nil {
		beside.Go(func() { s.watch(ctx) })
		beside.Go(func() { s.follow(ctx) })
		parts = append(parts, func() error { return s.elect(ctx) })
	}
	failed := make(chan error, len(parts))
	for _, run := range parts {
		go func() { failed <- run() }()
	}
	var errs []error
	select {
	case <-ctx.Done():
	case err := <-failed:
		errs = append(errs, err)
	}
	cancel()
	grace, done := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer done()
	if server.Shutdown(grace) != nil {
		_ = server.Close()
	}
	for len(errs) < cap(failed) {
		errs = append(errs, <-failed)
	}
	return errors.Join(errs...)
}

// stopGrace is how long requests that are under way may take at the end.
const stopGrace = 5 * time.Second

// Close gives up what Open opened. Nobody may serve any more.
func (s *Shard) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}
