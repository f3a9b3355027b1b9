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
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/berth-cloud/berth/internal/ingress/control"
	"github.com/berth-cloud/berth/internal/ingress/nodes"
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
	// TakeOver has a data plane that runs already hand over and drain.
	TakeOver bool
	// StopTimeout bounds how long requests may go on after ctx ended, or after
	// a successor has taken over.
	StopTimeout time.Duration
	Proxy       proxy.Config // its Log is set by Run
	// Ready, when set, is called once everything listens.
	Ready func(table.Hello)

	nodes nodes.Options // of tests
}

// DefaultStopTimeout is used where StopTimeout is 0.
const DefaultStopTimeout = 10 * time.Second

// Run is the whole life of the data plane. It returns nil after ctx ended or a
// successor took over, and everything was stopped in order; else what prevented
// or ended it.
func Run(ctx context.Context, log *slog.Logger, o Options) error {
	in, err := acquire(ctx, log, o)
	if err != nil {
		return err
	}
	defer in.close()
	fs, dir, err := store.OpenDir(filepath.Join(o.Dir, "tables"))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()

	touch := func() {} // there is no report before there is a proxy
	no := o.nodes
	no.Log, no.Touch = log, func() { touch() }
	n, err := nodes.New(no)
	if err != nil {
		return err
	}
	defer n.Close()
	cfg := o.Proxy
	cfg.Log, cfg.DialNode = log, n.Dial
	p := proxy.New(cfg)
	defer p.Close()
	touch = p.Touch
	st := store.New(fs)
	plane := control.NewPlane(log, st, p, newHello(o.Build, in.listeners), o.BootID)
	d := &daemon{log: log, o: o, in: in, plane: plane, nodes: n, stored: storedCluster(log, st), web: proxy.NewServer(p)}
	plane.WithNodes(n, st, d.stored)
	d.legacy = inheritNodes(log, in.from, d.stored)
	defer d.legacy.close() // what was used knows it
	if in.from == nil {
		d.restoreNodes()
	} else {
		n.Expect(d.legacy.nodes)
	}
	return d.serve(ctx)
}

func newHello(build string, listeners []listener) table.Hello {
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

// daemon is a data plane that has all it needs.
type daemon struct {
	log   *slog.Logger
	o     Options
	in    *inheritance
	plane *control.Plane
	nodes *nodes.Nodes
	web   *proxy.Server
	ctl   *control.Server

	stored *table.Cluster // nil: none was
	legacy legacy

	succeeded chan struct{} // closed when a successor is ready
	once      sync.Once
}

// serve runs until ctx ends, a successor took over or one part fails. Then it
// stops all in order: first the listeners and the requests, last the control
// socket, so that owners see the drain.
func (d *daemon) serve(ctx context.Context) error {
	d.succeeded = make(chan struct{})
	d.ctl = control.NewServer(d.log, d.plane, d.handover(), nil)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return named("control socket", d.ctl.Serve(d.in.socket)) })
	for _, l := range d.in.listeners {
		g.Go(func() error { return named(l.Addr().String(), d.web.Serve(l)) })
	}
	g.Go(func() error {
		select {
		case <-gctx.Done():
			d.stop(context.WithoutCancel(ctx))
		case <-d.succeeded:
			d.retire(context.WithoutCancel(ctx))
		}
		return nil
	})
	if d.in.from != nil {
		g.Go(func() error { return d.succeed(gctx) })
		g.Go(d.serveDials)
	}
	h := d.plane.Hello()
	d.log.Info("data plane up", "epoch", h.Epoch, "pid", h.PID, "listeners", h.Listeners, "control", d.o.Control, "build", h.Build)
	if d.o.Ready != nil {
		d.o.Ready(h)
	}
	return g.Wait()
}

// succeed is the other end of retire.
func (d *daemon) succeed(ctx context.Context) error {
	if err := d.in.from.Ready(); err != nil {
		return err
	}
	d.restoreNodes()
	d.in.socket.SetUnlinkOnClose(true) // it is ours now
	d.in.from.Follow(ctx, func(busy []table.TargetReport) { d.plane.Inherit(busy, time.Now()) })
	return nil
}

func (d *daemon) stopTimeout() time.Duration {
	if d.o.StopTimeout == 0 {
		return DefaultStopTimeout
	}
	return d.o.StopTimeout
}

// stop is the end without a successor. ctx must be one that has not ended.
func (d *daemon) stop(ctx context.Context) {
	sctx, cancel := context.WithTimeout(ctx, d.stopTimeout())
	defer cancel()
	d.log.Info("stopping", "timeout", d.stopTimeout())
	if err := d.web.Stop(sctx, 0); err != nil {
		d.log.Warn("requests were cut at the stop timeout", "error", err)
	}
	d.closeControl(ctx)
}

// retire is the end with a successor that serves already: the control socket is
// its from now on, and clients have some time to send their next request over
// an old connection.
func (d *daemon) retire(ctx context.Context) {
	d.in.socket.SetUnlinkOnClose(false)
	d.closeControl(ctx)
	sctx, cancel := context.WithTimeout(ctx, d.stopTimeout())
	defer cancel()
	if err := d.web.Stop(sctx, d.stopTimeout()/2); err != nil {
		d.log.Warn("requests were cut at the stop timeout", "error", err)
	}
	d.ctl.Drained()
	d.log.Info("retired")
}

func (d *daemon) closeControl(ctx context.Context) {
	cctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = d.ctl.Close(cctx)
}

func named(what string, err error) error {
	if err == nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", what, err)
}
