package admintest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/api/backendadmin"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
)

// Epoch is the time at which everything happens.
var Epoch = time.Date(2026, time.March, 4, 10, 0, 0, 0, time.UTC)

// CallbackURL is where callbacks of the leases of tests go. Nobody is there.
const CallbackURL = "http://holder.example:8443/callbacks/provision"

// Daemon is a backend with its operator's API on a socket.
type Daemon struct {
	Socket  string
	Hosting *hosting.Hosting
	Handler http.Handler

	pool   *pool.Pool
	outbox *outbox.Outbox
	mem    *memory.Provider
	engine *reconcile.Engine
	cancel context.CancelFunc
	wg     sync.WaitGroup
	dir    string
}

// Start starts one. Close ends it.
func Start() (*Daemon, error) {
	// Not below the test's own folder: the path of a socket has at most 107 bytes.
	dir, err := os.MkdirTemp("", "berth-backend")
	if err != nil {
		return nil, fmt.Errorf("start a test backend: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &Daemon{Socket: filepath.Join(dir, "s"), cancel: cancel, dir: dir}
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start a test backend: %w", err), d.Close())
	}
	return d, nil
}

func (d *Daemon) start(ctx context.Context) error {
	if err := d.host(ctx, provider.NewMemoryStore()); err != nil {
		return err
	}
	var err error
	if d.Handler, err = backendadmin.New(backendadmin.Deps{
		Backend: d.Hosting, Leases: d.Hosting, Callbacks: d.outbox, Capacity: d.pool.Stats, Version: "0.1.0-test", AdminUID: os.Getuid(),
		Notes: []string{"the size of a disk is counted and not enforced"},
	}); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", d.Socket)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: d.Handler, ConnContext: api.ConnContext, ReadHeaderTimeout: time.Minute}
	d.wg.Go(func() { _ = srv.Serve(l) }) // it ends with Close
	d.wg.Go(func() {
		<-ctx.Done()
		_ = srv.Close()
	})
	d.drive(ctx)
	return nil
}

// drive brings the leases on.
func (d *Daemon) drive(ctx context.Context) {
	key := func(lease string) reconcile.Key { return reconcile.Key{Kind: "lease", Name: lease} }
	d.engine = reconcile.New(func(_ context.Context, k reconcile.Key) (reconcile.Controller, error) {
		if !d.Hosting.Knows(k.Name) {
			return nil, nil
		}
		return step{d.Hosting, k.Name}, nil
	}, reconcile.Config{
		Workers: 2, Backoff: reconcile.Backoff{Base: 20 * time.Millisecond, Ceiling: 200 * time.Millisecond},
		List: func(ctx context.Context) ([]reconcile.Key, error) {
			leases, err := d.Hosting.Leases(ctx)
			keys := make([]reconcile.Key, 0, len(leases))
			for _, lease := range leases {
				keys = append(keys, key(lease))
			}
			return keys, err
		},
	})
	d.wg.Go(func() { _ = d.engine.Run(ctx) })
	d.wg.Go(func() {
		d.engine.Watch(ctx, "leases", func(ctx context.Context, ready func(), emit func(reconcile.Key)) error {
			return d.Hosting.Watch(ctx, ready, func(lease string) { emit(key(lease)) })
		}, nil)
	})
}

// step is one step of one lease.
type step struct {
	hosting *hosting.Hosting
	lease   string
}

var _ reconcile.Controller = step{}

// Name implements reconcile.Controller.
func (s step) Name() string { return "lease/" + s.lease }

// Reconcile implements reconcile.Controller.
func (s step) Reconcile(ctx context.Context) (reconcile.Result, error) {
	again, err := s.hosting.Step(ctx, s.lease)
	return reconcile.Result{RequeueAfter: again}, err
}

// Await returns once a lease has a status, and its callback was tried.
func (d *Daemon) Await(lease string, status backend.ProvisionStatus) error {
	return d.until(lease+" is "+string(status), func(ctx context.Context) bool {
		info, err := d.Hosting.GetProvision(ctx, lease)
		if err != nil || info.Status != status {
			return false
		}
		s, err := d.outbox.Look(ctx, lease)
		return err == nil && s.Attempts > 0 && s.Failure != ""
	})
}

// AwaitDomain returns once a domain of a lease is so far, as the operator sees it.
func (d *Daemon) AwaitDomain(lease, domain, state string) error {
	return d.until(lease+" has "+domain+", "+state, func(ctx context.Context) bool {
		in, err := d.Hosting.Inspect(ctx, lease)
		if err != nil {
			return false
		}
		return slices.ContainsFunc(in.Domains, func(one hosting.Domain) bool {
			return one.Name == domain && one.State == state && (one.Why != "" || state == "served")
		})
	})
}

// AwaitGone returns once nothing of a lease is known any more.
func (d *Daemon) AwaitGone(lease string) error {
	return d.until(lease+" is gone", func(context.Context) bool { return !d.Hosting.Knows(lease) })
}

func (d *Daemon) until(what string, cond func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !cond(ctx) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("it is not so that lease %s", what)
		}
	}
	return nil
}

// Close ends everything.
func (d *Daemon) Close() error {
	d.cancel()
	d.wg.Wait()
	if d.mem != nil {
		d.mem.Close()
	}
	return os.RemoveAll(d.dir)
}
