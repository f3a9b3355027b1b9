package apitest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/store/sqlite"
	"github.com/berth-cloud/berth/secrets"
)

// Epoch is the time at which everything happens, so that outputs repeat.
var Epoch = time.Date(2026, time.March, 4, 10, 0, 0, 0, time.UTC)

// Daemon is an API on a Unix socket over a store in a directory of its own.
type Daemon struct {
	Socket string
	Store  *sqlite.Store
	Server *api.Server
	Paper  *Paper
	// Workloads run on a provider in memory, named "memory".
	Workloads *Workloads

	cancel context.CancelFunc
	wg     sync.WaitGroup
	dir    string
	errs   chan error
}

// Start starts a daemon. change may alter what the API stands on. Close ends it.
func Start(change func(*api.Deps)) (*Daemon, error) {
	// Not below the test's own folder: the path of a socket has at most 107 bytes.
	dir, err := os.MkdirTemp("", "berth-api")
	if err != nil {
		return nil, fmt.Errorf("start a test daemon: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &Daemon{Socket: filepath.Join(dir, "s"), cancel: cancel, dir: dir, errs: make(chan error, 1)}
	if err := d.start(ctx, change); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Daemon) start(ctx context.Context, change func(*api.Deps)) error {
	now := func() time.Time { return Epoch }
	var err error
	if d.Store, err = sqlite.Open(ctx, sqlite.Options{Dir: filepath.Join(d.dir, "data"), Now: now}); err != nil {
		return fmt.Errorf("start a test daemon: %w", err)
	}
	deps := api.Deps{
		Engine: engine{d.Store}, Secrets: secrets.NewMemory(secrets.WithClock(now)),
		Store: d.Store, Now: now, Instance: "b1", Version: "0.1.0-test", AdminUID: os.Getuid(),
		Listeners: func() []string { return []string{"http://0.0.0.0:8080"} },
	}
	if change != nil {
		change(&deps)
	}
	if d.Workloads, err = NewWorkloads(deps.Logger); err != nil {
		return fmt.Errorf("start a test daemon: %w", err)
	}
	deps.Workloads = d.Workloads.Service
	if d.Server, err = api.New(deps); err != nil {
		return fmt.Errorf("start a test daemon: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", d.Socket)
	if err != nil {
		return fmt.Errorf("start a test daemon: %w", err)
	}
	d.wg.Go(func() { d.errs <- api.Serve(ctx, listener, d.Server) })
	d.wg.Go(func() { d.Workloads.Run(ctx) })
	d.Paper = newPaper(d.Store)
	d.wg.Go(func() { d.Paper.run(ctx) })
	return nil
}

// AwaitStream returns once somebody follows something, or an error after a while.
func (d *Daemon) AwaitStream() error {
	limit := time.After(20 * time.Second)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for d.Server.Streams() == 0 {
		select {
		case <-look.C:
		case <-limit:
			return errors.New("nobody opened an event stream")
		}
	}
	return nil
}

// Close ends the daemon and removes its directory.
func (d *Daemon) Close() error {
	d.cancel()
	d.wg.Wait()
	var errs []error
	select {
	case err := <-d.errs:
		errs = append(errs, err)
	default:
	}
	if d.Workloads != nil {
		d.Workloads.Close()
	}
	if d.Store != nil {
		errs = append(errs, d.Store.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(d.dir))...)
}
