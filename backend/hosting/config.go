package hosting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/provider"
)

// Outbox takes callbacks and delivers them; package outbox has one.
type Outbox interface {
	// Add takes a callback. The same operation again is the same callback.
	Add(ctx context.Context, op, lease, url string, payload backend.CallbackPayload) error
	// Step sends what is due of a lease and says when to call again; 0 is not. It is
	// part of the lease's Step, so that it should not wait for a receiver for long:
	// an outbox that sends by itself does nothing here.
	Step(ctx context.Context, lease string) (time.Duration, error)
	// Pending is every lease that has callbacks.
	Pending(ctx context.Context) ([]string, error)
}

// Config is what a Hosting stands on.
type Config struct {
	// Name is the backend's, in callbacks.
	Name     string
	Provider provider.Provider
	// Store has the leases. Nobody else writes below "leases/", "manifests/",
	// "volumes/", "retained/" and "diagnostics/", nor "drain".
	Store  provider.StateStore
	Outbox Outbox
	SKUs   pool.Resolver
	Pool   *pool.Pool
	Images manifest.Policy
	// Target refuses callback URLs; nil takes any.
	Target func(url string) error
	// BindAddress is where the ports of leases are published, and Host how clients
	// name that address; "" is the address itself.
	BindAddress netip.Addr
	Host        string
	// Ingress has leases reached by name. Without it they are by their ports alone, and
	// one that asks for a custom domain is refused.
	Ingress *Ingress
	// Guard is asked before anything starts; nil is none.
	Guard Guard
	// NewID makes the ids of operations; it is given for tests.
	NewID  func() string
	Now    func() time.Time
	Logger *slog.Logger
	Timing Timing
	// Retention is what becomes of the volumes of leases.
	Retention Retention
}

// Timing bounds the work on a lease. A zero field has the default.
type Timing struct {
	Provision time.Duration // until a new lease is ready; 10 min
	Replace   time.Duration // until a restart or an update is done; 10 min
	Rollback  time.Duration // until what went wrong is back; 2 min
	Recheck   time.Duration // between two looks at what is not ready; 1 s
	Watchdog  time.Duration // between two looks at what is; 5 min
	// Leave bounds how long a lease that is given up waits until its routes are gone and
	// what they led to is done; 20 s.
	Leave time.Duration
	// Ask is between two looks at a domain that does not resolve, at first: it doubles up
	// to 60 times that. One that somebody else has is not taken anew for 12 times that;
	// 5 s.
	Ask time.Duration
	// Call bounds one call of the provider, which may wait for a container to end;
	// 5 min.
	Call time.Duration
	Reap time.Duration // between two looks at what is retained; 1 h
}

func (t Timing) withDefaults() Timing {
	return Timing{
		Provision: cmp.Or(t.Provision, 10*time.Minute), Replace: cmp.Or(t.Replace, 10*time.Minute),
		Rollback: cmp.Or(t.Rollback, 2*time.Minute), Recheck: cmp.Or(t.Recheck, time.Second), Watchdog: cmp.Or(t.Watchdog, 5*time.Minute),
		Call: cmp.Or(t.Call, 5*time.Minute), Reap: cmp.Or(t.Reap, time.Hour), Leave: cmp.Or(t.Leave, 20*time.Second), Ask: cmp.Or(t.Ask, 5*time.Second),
	}
}

// Hosting is a backend.Backend. Make it with Open.
type Hosting struct {
	cfg       Config
	rows      *rows
	sets      *sets
	diagnoses *diagnoses
	hub       reconcile.Hub[string]

	drain drain
	steps turns
	// asking bounds the leases for whose domains the gate is asked at once.
	asking chan struct{}

	mu sync.Mutex
	// stepping ends the Step of a lease that is under way.
	stepping map[string]context.CancelFunc
	// seen is how each lease that is ready was reached, as of its last Step.
	seen map[string]*backend.LeaseInfo
	// troubles is why the last effects of each lease failed.
	troubles map[string]string
}

var (
	_ backend.Backend        = (*Hosting)(nil)
	_ backend.ProvisionPager = (*Hosting)(nil)
)

// ErrConfig is a configuration that no Hosting can be made from.
var ErrConfig = errors.New("hosting configuration is not valid")

// Open reads the leases and counts what they hold. What it may not have finished
// goes on with the next Step.
func Open(ctx context.Context, cfg Config) (*Hosting, error) {
	switch {
	case cfg.Name == "":
		return nil, fmt.Errorf("%w: it has no name", ErrConfig)
	case cfg.Provider == nil, cfg.Store == nil, cfg.Outbox == nil, cfg.SKUs == nil, cfg.Pool == nil, cfg.NewID == nil, cfg.Now == nil:
		return nil, fmt.Errorf("%w: a provider, a store, an outbox, SKUs, a pool, ids and a clock are needed", ErrConfig)
	}
	if err := cfg.Ingress.check(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Target == nil {
		cfg.Target = func(string) error { return nil }
	}
	cfg.Timing = cfg.Timing.withDefaults()
	all, err := openRows(ctx, cfg.Store)
	if err != nil {
		return nil, err
	}
	if err := all.dropStrays(ctx); err != nil {
		return nil, err
	}
	kept, err := openSets(ctx, cfg.Store)
	if err != nil {
		return nil, err
	}
	words, err := openDiagnoses(ctx, cfg.Store)
	if err != nil {
		return nil, err
	}
	h := &Hosting{
		cfg: cfg, rows: all, sets: kept, diagnoses: words, stepping: map[string]context.CancelFunc{}, seen: map[string]*backend.LeaseInfo{}, troubles: map[string]string{},
		asking: make(chan struct{}, maxAsking),
	}
	if err := h.openDrain(ctx); err != nil {
		return nil, err
	}
	if cfg.Ingress != nil {
		all.changed = h.tellRouter
	}
	return h, h.count()
}

// Name implements backend.Backend.
func (h *Hosting) Name() string { return h.cfg.Name }
