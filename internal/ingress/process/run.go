package process

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/berth-cloud/berth/internal/ingress/control"
	"github.com/berth-cloud/berth/internal/ingress/proxy"
	"github.com/berth-cloud/berth/internal/ingress/store"
	"github.com/berth-cloud/berth/internal/ingress/table"
)

// Options are what `berth-node ingress` is told.
type Options struct {
	Dir     string   // holds the lock and the tables; created when missing
	HTTP    []string // addresses to listen on, host:port
	Control string   // path of the control socket
	Build   string
	BootID  string // the machine's; see [BootID]
	// StopTimeout bounds how long requests may go on after ctx ended.
	StopTimeout time.Duration
	Proxy       proxy.Config // its Log is set by Run
	// Ready, when set, is called once everything listens.
	Ready func(table.Hello)
}

// DefaultStopTimeout is used where StopTimeout is 0.
const DefaultStopTimeout = 10 * time.Second

// Run is the whole life of the data plane. It returns nil after ctx ended and
// everything was stopped in order, else what prevented or ended it.
func Run(ctx context.Context, log *slog.Logger, o Options) error {
	unlock, err := lockDir(o.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	fs, dir, err := store.OpenDir(filepath.Join(o.Dir, "tables"))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	socket, err := control.Listen(o.Control)
	if err != nil {
		return err
	}
	defer func() { _ = socket.Close() }()
	listeners, err := listenAll(ctx, o.HTTP)
	if err != nil {
		return err
	}
	defer closeAll(listeners)

	cfg := o.Proxy
	cfg.Log = log
	p := proxy.New(cfg)
	defer p.Close()
	hello := newHello(o.Build, listeners)
	plane := control.NewPlane(log, store.New(fs), p, hello, o.BootID)
	return serve(ctx, log, o, plane, p, socket, listeners)
}

func newHello(build string, listeners []net.Listener) table.Hello {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	h := table.Hello{
		Protocol: table.Protocol, Epoch: hex.EncodeToString(b[:]), PID: os.Getpid(),
		Started: time.Now().UTC(), Build: build,
	}
	for _, l := range listeners {
		h.Listeners = append(h.Listeners, "http://"+l.Addr().String())
	}
	return h
}

// serve runs until ctx ends or one part fails, then stops all in order: first
// the listeners and the requests, last the control socket, so that owners see
// the drain.
func serve(ctx context.Context, log *slog.Logger, o Options, plane *control.Plane, p *proxy.Proxy, socket net.Listener, listeners []net.Listener) error {
	ctl := control.NewServer(log, plane, nil)
	web := proxy.NewServer(p)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return named("control socket", ctl.Serve(socket)) })
	for _, l := range listeners {
		g.Go(func() error { return named(l.Addr().String(), web.Serve(l)) })
	}
	g.Go(func() error {
		<-gctx.Done()
		timeout := o.StopTimeout
		if timeout == 0 {
			timeout = DefaultStopTimeout
		}
		// ctx has ended; stopping has its own time.
		sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		log.Info("stopping", "timeout", timeout)
		if err := web.Stop(sctx); err != nil {
			log.Warn("requests were cut at the stop timeout", "error", err)
		}
		cctx, cancelControl := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancelControl()
		_ = ctl.Close(cctx)
		return nil
	})
	h := plane.Hello()
	log.Info("data plane up", "epoch", h.Epoch, "pid", h.PID, "listeners", h.Listeners, "control", o.Control, "build", h.Build)
	if o.Ready != nil {
		o.Ready(h)
	}
	return g.Wait()
}

func named(what string, err error) error {
	if err == nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", what, err)
}
