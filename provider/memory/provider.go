package memory

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// Mode says when calls return that change something.
type Mode int

const (
	// Sync is when the instance is as it was asked for, or failed.
	Sync Mode = iota

	// Stepped is after the first pass; Step, or provider.Await, does the rest.
	Stepped
)

// Options are what a Provider is made of. The zero value is a Provider of its own
// in mode Sync.
type Options struct {
	// Cluster is where containers run. Nil is a new one, which Provider.Close
	// closes.
	Cluster *Cluster

	// Store keeps the records; nil is a new Store.
	Store provider.StateStore

	// Vault is where secrets are read and config files kept; nil is an empty one
	// in memory.
	Vault secrets.Vault

	Mode Mode

	// Info is what Info returns. An empty Name is "memory".
	Info provider.ProviderInfo

	// Capabilities are those that the Provider has; nil is AllCapabilities. What
	// needs another is ErrNotSupported.
	Capabilities []provider.Capability

	// Log gets a line for every change; nil discards them.
	Log *slog.Logger
}

// AllCapabilities is what a Provider can do.
func AllCapabilities() []provider.Capability {
	return []provider.Capability{
		provider.CapProvision, provider.CapDeploy, provider.CapScale, provider.CapLogs, provider.CapExec,
		provider.CapVolumes, provider.CapKeptVolumes, provider.CapBlueGreen, provider.CapRolling,
	}
}

// Provider drives a Cluster. It keeps nothing that the Cluster, the StateStore and
// the vault do not.
type Provider struct {
	opts    Options
	cluster *Cluster
	store   provider.StateStore
	vault   secrets.Vault
	log     *slog.Logger
	wire    wire
	owns    bool

	mu    sync.Mutex
	locks map[id.ID]*instanceLock
	ended map[id.ID]bool // instances that were deprovisioned, for Step
	order []id.ID
}

var (
	_ provider.Provider        = (*Provider)(nil)
	_ provider.Stepper         = (*Provider)(nil)
	_ provider.Watcher         = (*Provider)(nil)
	_ provider.HealthChecker   = (*Provider)(nil)
	_ provider.ReadinessWaiter = (*Provider)(nil)
	_ provider.VolumeKeeper    = (*Provider)(nil)
	_ provider.ImageInspector  = (*Provider)(nil)
)

// New makes a Provider.
func New(opts Options) *Provider {
	p := &Provider{
		opts: opts, cluster: opts.Cluster, store: opts.Store, vault: opts.Vault, log: opts.Log,
		locks: map[id.ID]*instanceLock{}, ended: map[id.ID]bool{},
	}
	if p.cluster == nil {
		p.cluster, p.owns = NewCluster(nil), true
	}
	if p.store == nil {
		p.store = provider.NewMemoryStore()
	}
	if p.vault == nil {
		p.vault = secrets.NewMemory()
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.opts.Info.Name == "" {
		p.opts.Info.Name = "memory"
	}
	if p.opts.Capabilities == nil {
		p.opts.Capabilities = AllCapabilities()
	}
	p.wire.cluster = p.cluster
	return p
}

// Cluster is where the containers are.
func (p *Provider) Cluster() *Cluster { return p.cluster }

// Close ends what New made by itself: a Cluster that the Options did not name.
func (p *Provider) Close() {
	if p.owns {
		p.cluster.Close()
	}
}

// Info implements provider.Provider.
func (p *Provider) Info() provider.ProviderInfo { return p.opts.Info }

// Capabilities implements provider.Provider.
func (p *Provider) Capabilities() []provider.Capability { return slices.Clone(p.opts.Capabilities) }

func (p *Provider) can(c provider.Capability) bool { return slices.Contains(p.opts.Capabilities, c) }

// HealthCheck implements provider.HealthChecker.
func (p *Provider) HealthCheck(ctx context.Context) (*provider.HealthStatus, error) {
	began := p.cluster.now()
	_, err := p.wire.ask(ctx, read, "health check")
	st := &provider.HealthStatus{Healthy: err == nil, Latency: p.cluster.now().Sub(began), CheckedAt: p.cluster.now()}
	if err != nil {
		st.Message = err.Error()
	}
	return st, nil
}

// ReadinessPolicy implements provider.ReadinessWaiter.
func (p *Provider) ReadinessPolicy() provider.ReadinessPolicy {
	return provider.ReadinessPolicy{Timeout: provider.DefaultReadinessTimeout, Interval: 100 * time.Millisecond}
}

// instanceLock lets one call at a time change an instance.
type instanceLock struct {
	turn  chan struct{}
	users int
}

// lock waits for its turn, or for the end of ctx.
func (p *Provider) lock(ctx context.Context, instance id.ID) (unlock func(), err error) {
	p.mu.Lock()
	l := p.locks[instance]
	if l == nil {
		l = &instanceLock{turn: make(chan struct{}, 1)}
		p.locks[instance] = l
	}
	l.users++
	p.mu.Unlock()
	leave := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(p.locks, instance)
		}
	}
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// maxEnded bounds the memory of what was deprovisioned.
const maxEnded = 4096

func (p *Provider) noteEnd(instance id.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended[instance] {
		return
	}
	p.ended[instance] = true
	p.order = append(p.order, instance)
	if len(p.order) > maxEnded {
		delete(p.ended, p.order[0])
		p.order = p.order[1:]
	}
}

func (p *Provider) hasEnded(instance id.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended[instance]
}
