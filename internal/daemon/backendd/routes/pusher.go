package routes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/reconcile/ingress"
	"github.com/berth-cloud/berth/provider"
)

// Config is what a Pusher stands on.
type Config struct {
	Plane ingress.Plane
	// Store keeps the number of the last table under the key Record.
	Store provider.StateStore
	// Facts are those of the machine and the engine now.
	Facts func(ctx context.Context) (ingress.Facts, error)
	// Wake is told of a lease that something was decided for.
	Wake   func(lease string)
	Now    func() time.Time
	Logger *slog.Logger
	// Reached is told whether the data plane answers, whenever the connection to it says
	// something of that: nil, or why not. Nil has the log told.
	Reached func(ctx context.Context, err error)
}

// watched is a data plane whose answers somebody hears of.
type watched struct {
	ingress.Plane
	reached func(ctx context.Context, err error)
}

// Reports implements ingress.Plane.
func (w watched) Reports(ctx context.Context, each func(table.Report) error) error {
	err := w.Plane.Reports(ctx, func(r table.Report) error {
		w.reached(ctx, nil)
		return each(r)
	})
	if ctx.Err() == nil {
		w.reached(ctx, err)
	}
	return err
}

// Pusher is a hosting.Router.
type Pusher struct {
	cfg    Config
	link   *ingress.Link
	engine *reconcile.Engine
	number number
	source func() []hosting.Route // of Run
	quiet  time.Time              // until when nothing is pushed; of the one worker

	mu     sync.Mutex
	pushed ingress.Facts // with the last table that was taken
	// inUse is the last table that this process knows to be taken.
	inUse   *inUse
	refused map[string]refusal // by host
}

// inUse is what counts of a table.
type inUse struct {
	version int64
	hosts   map[string]string // host -> route
	leases  map[string]bool
}

// refusal is a host that another owner has.
type refusal struct {
	route string
	until time.Time // when it is tried again
}

var _ hosting.Router = (*Pusher)(nil)

// How often a host is tried again that another owner has.
const refusedFor = time.Minute

// After a push come pauses times as long as it took without another one: a table is made
// of all leases, and where they are many and keep changing, what changes meanwhile goes
// together with the next.
const (
	pauses       = 4
	longestPause = time.Second
)

// How a push is tried again that failed.
const (
	pushBase    = 50 * time.Millisecond
	pushCeiling = 2 * time.Second
)

var key = reconcile.Key{Kind: "routes", Name: string(table.OwnerBackend)}

// New is a pusher. It pushes nothing before Run.
func New(cfg Config) *Pusher {
	p := &Pusher{cfg: cfg, number: number{store: cfg.Store}, refused: map[string]refusal{}}
	plane, logger := cfg.Plane, cfg.Logger
	if cfg.Reached != nil {
		plane, logger = watched{cfg.Plane, cfg.Reached}, slog.New(slog.DiscardHandler) // whose only words are these
	}
	p.link = ingress.NewLinkOf(table.OwnerBackend, plane, logger, p.drained, p.Changed, func() {})
	p.engine = reconcile.New(
		func(context.Context, reconcile.Key) (reconcile.Controller, error) { return pass{p}, nil },
		reconcile.Config{
			Workers: 1, Logger: cfg.Logger, Backoff: reconcile.Backoff{Base: pushBase, Ceiling: pushCeiling},
			List: func(context.Context) ([]reconcile.Key, error) { return []reconcile.Key{key}, nil },
		})
	return p
}

// Run pushes the routes of source until ctx is done.
func (p *Pusher) Run(ctx context.Context, source func() []hosting.Route) error {
	p.source = source
	var wg sync.WaitGroup
	wg.Go(func() { p.link.Run(ctx) })
	err := p.engine.Run(ctx)
	wg.Wait()
	return err
}

// Changed implements hosting.Router.
func (p *Pusher) Changed() { p.engine.Enqueue(key) }

// Host implements hosting.Router.
func (p *Pusher) Host(host, route string) hosting.Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.inUse != nil && p.inUse.hosts[host] == route:
		return hosting.Served
	case p.refused[host].route == route:
		return hosting.Refused
	}
	return hosting.Unanswered
}

// Left implements hosting.Router.
func (p *Pusher) Left(lease string) bool {
	p.mu.Lock()
	t := p.inUse
	p.mu.Unlock()
	view := p.link.View()
	if t == nil || t.leases[lease] || !view.Known || view.Reported < t.version {
		return false
	}
	prefix := hosting.RoutePrefix(lease)
	for id, traffic := range view.InFlight {
		if traffic.InFlight > 0 && strings.HasPrefix(id, prefix) {
			return false
		}
	}
	return true
}

// State is what an operator may want to know.
type State struct {
	Reached bool // the data plane answers
	Hosts   int  // in the table that it took last
	Refused int  // hosts that another owner has
}

// State is that of now.
func (p *Pusher) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{Reached: p.link.View().Known, Refused: len(p.refused)}
	if p.inUse != nil {
		s.Hosts = len(p.inUse.hosts)
	}
	return s
}

// drained wakes the lease of a route whose traffic has left.
func (p *Pusher) drained(route string) {
	if lease, ok := hosting.LeaseOf(route); ok {
		p.cfg.Wake(lease)
	}
}

// pass is one run of the key.
type pass struct{ p *Pusher }

var _ reconcile.Controller = pass{}

// Name implements reconcile.Controller.
func (pass) Name() string { return key.String() }

// Reconcile implements reconcile.Controller.
func (c pass) Reconcile(ctx context.Context) (reconcile.Result, error) {
	p := c.p
	if wait := p.quiet.Sub(p.cfg.Now()); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	began := p.cfg.Now()
	again, err := p.push(ctx)
	now := p.cfg.Now()
	p.quiet = now.Add(min(pauses*now.Sub(began), longestPause))
	return reconcile.Result{RequeueAfter: again}, err
}

// rounds bounds the pushes of a pass: one is refused for its number, one for hosts, and
// one more for hosts that were claimed meanwhile.
const rounds = 4

// push has the data plane take the routes as they are, and says when to try again what
// it refused; 0 is never.
func (p *Pusher) push(ctx context.Context) (time.Duration, error) {
	routes := p.source()
	facts, err := p.cfg.Facts(ctx)
	if err != nil {
		return 0, err
	}
	p.forgive(routes)
	for range rounds {
		t := build(routes, p.isRefused)
		t.BootID, t.EngineStart = facts.BootID, facts.EngineStart
		if t.Version, err = p.number.of(ctx, &t); err != nil {
			return 0, err
		}
		view := p.link.View()
		if view.Known && view.Acked == t.Version && p.pushedWith(facts, t.Version) {
			return p.tryAgain(), nil
		}
		var ack table.Ack
		if ack, err = p.cfg.Plane.Push(ctx, t); err == nil {
			p.link.Acknowledged(ack)
			p.take(&t, routes, facts)
			return p.tryAgain(), nil
		}
		switch {
		case errors.Is(err, table.ErrClaimed):
			if !p.refuse(ctx, err, routes) {
				return 0, err
			}
		case errors.Is(err, table.ErrOldVersion), errors.Is(err, table.ErrSameVersion):
			// The store was lost, or is an older copy: its leases are the true ones, as no
			// other backend is on this data plane.
			p.cfg.Logger.WarnContext(ctx, "the data plane has a newer table than this store knows; it is replaced", "error", err)
			p.number.beyond(view.Acked)
		case !view.Known:
			return 0, nil // the link pushes again as soon as a data plane answers
		default:
			return 0, err
		}
	}
	return 0, fmt.Errorf("the data plane refused %d tables in a row: %w", rounds, err)
}

func (p *Pusher) pushedWith(f ingress.Facts, version int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inUse != nil && p.inUse.version == version && p.pushed == f
}
