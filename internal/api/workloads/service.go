package workloads

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/rollout"
	"github.com/berth-cloud/berth/secrets"
)

// Config is what a Service stands on. State, Registry and Tenant are required.
type Config struct {
	State    provider.StateStore
	Registry *provider.Registry
	// Tenant owns all workloads, and the secrets that they name.
	Tenant string
	// Vault has those secrets, and keeps contents of config files. Nil refuses
	// workloads with either.
	Vault secrets.Vault
	// Wake is told of a workload that has to be looked at now; it must not block.
	Wake func(reconcile.Key)
	// Policy is that of all rollouts.
	Policy rollout.Policy
	// Patience is how long a request waits for a provider; 0 is DefaultPatience.
	Patience time.Duration
	Now      func() time.Time
	NewID    func(kind string) id.ID
	Logger   *slog.Logger
}

// DefaultPatience is how long a request waits for a provider to take a change in.
const DefaultPatience = 5 * time.Second

// Service is the workloads of one tenant. It is safe for concurrent use.
type Service struct {
	cfg      Config
	log      *slog.Logger
	rollouts *rollout.Manager
	moves    moves
	troubles troubles
	names    names

	base   context.Context // of calls that outlive their request
	cancel context.CancelCauseFunc
	calls  chan struct{} // one token for each of them
	wg     sync.WaitGroup
}

// maxCalls bounds the calls to providers that outlive their request.
const maxCalls = 64

var errClosed = errors.New("the daemon ends")

// New makes a Service. Close it when nothing calls it any more.
func New(cfg Config) (*Service, error) {
	if cfg.State == nil || cfg.Registry == nil || cfg.Tenant == "" {
		return nil, errors.New("workloads need a store, providers and a tenant")
	}
	if cfg.Wake == nil {
		cfg.Wake = func(reconcile.Key) {}
	}
	if cfg.Patience <= 0 {
		cfg.Patience = DefaultPatience
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = id.New
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{cfg: cfg, log: cfg.Logger, calls: make(chan struct{}, maxCalls)}
	s.base, s.cancel = context.WithCancelCause(context.Background())
	s.rollouts = rollout.New(cfg.State, cfg.Registry, rollout.Options{
		Now: cfg.Now, NewID: cfg.NewID, Policy: cfg.Policy, Logger: cfg.Logger, Vault: cfg.Vault, Events: s.moves.tell,
	})
	return s, nil
}

// Close ends the calls that are under way and waits for them. What they were to do
// is recorded, and goes on with the next Service.
func (s *Service) Close() {
	s.cancel(errClosed)
	s.wg.Wait()
}

func (s *Service) now() time.Time { return s.cfg.Now().UTC().Round(0) }

// wake has a workload looked at.
func (s *Service) wake(r row) { s.cfg.Wake(r.key()) }
