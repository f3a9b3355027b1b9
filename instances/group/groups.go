package group

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// The kinds of keys.
const (
	KindGroup   = "machine-group"
	KindCollect = "machine-collect"
)

// Key is that of a group.
func Key(tenant, group string) reconcile.Key {
	return reconcile.Key{Kind: KindGroup, Name: tenant + "/" + group}
}

// CollectKey is that of the shard's collection.
func CollectKey() reconcile.Key { return reconcile.Key{Kind: KindCollect, Name: "shard"} }

// ErrKey: a key is none of this package.
var ErrKey = errors.New("not the key of a group")

// Groups makes the controllers of a shard's groups, for one term of its leader. It is
// safe for concurrent use.
type Groups struct {
	opts Options
	gate gate

	mu     sync.Mutex
	memory map[config.GroupKey]*memory
	asked  map[string]bool // the machines that somebody wants to be replaced

	report      instances.CollectReport // of the last collection
	collectedAt time.Time
}

// New prepares the groups. Errors: ErrOptions.
func New(opts Options) (*Groups, error) {
	if err := opts.settle(); err != nil {
		return nil, err
	}
	return &Groups{opts: opts, memory: map[config.GroupKey]*memory{}, asked: map[string]bool{}}, nil
}

var _ reconcile.Factory = (*Groups)(nil).Factory

// Factory makes the controller of a key. There is none for a group that is not in the
// configuration and has no machines.
func (g *Groups) Factory(ctx context.Context, key reconcile.Key) (reconcile.Controller, error) {
	if key == CollectKey() && g.opts.Collector != nil {
		return collector{g}, nil
	}
	tenant, name, ok := strings.Cut(key.Name, "/")
	if key.Kind != KindGroup || !ok {
		return nil, fmt.Errorf("%w: %s", ErrKey, key)
	}
	if name == instances.JoinedGroup {
		return nil, nil //nolint:nilnil // it has no controller, whoever asks for it
	}
	of := config.GroupKey{Tenant: tenant, Group: name}
	gone, err := g.gone(ctx, of)
	if err != nil {
		return nil, err
	}
	if gone {
		g.forget(of)
		return nil, nil //nolint:nilnil // the factory's word for a key that is no more
	}
	return &controller{
		g: g, key: of, memory: g.memoryOf(of),
		log: g.opts.Logger.With("tenant", tenant, "group", name),
	}, nil
}

// gone reports whether there is nothing to be done for a group ever more.
func (g *Groups) gone(ctx context.Context, of config.GroupKey) (bool, error) {
	conf := g.opts.Configs.Current()
	if conf == nil {
		return false, nil
	}
	if _, ok := conf.Groups[of.Tenant][of.Group]; ok {
		return false, nil
	}
	rows, err := g.opts.Rows.Instances(ctx, localdb.Query{Tenant: of.Tenant, Group: of.Group})
	if err != nil {
		return false, fmt.Errorf("group %s of %s: %w", of.Group, of.Tenant, err)
	}
	if m := g.memoryOf(of); len(rows) == 0 {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.expected) == 0, nil
	}
	return false, nil
}

// List names every group that is in the configuration or has machines, and the
// collection.
func (g *Groups) List(ctx context.Context) ([]reconcile.Key, error) {
	all := map[config.GroupKey]bool{}
	if conf := g.opts.Configs.Current(); conf != nil {
		for _, key := range conf.GroupKeys() {
			all[key] = true
		}
	}
	rows, err := g.opts.Rows.Instances(ctx, localdb.Query{})
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", err)
	}
	for i := range rows {
		if rows[i].Group == instances.JoinedGroup {
			continue // of hosts that nobody counts, rotates or replaces
		}
		all[config.GroupKey{Tenant: rows[i].Tenant, Group: rows[i].Group}] = true
	}
	var keys []reconcile.Key
	if g.opts.Collector != nil {
		keys = append(keys, CollectKey())
	}
	for key := range maps.Keys(all) {
		keys = append(keys, Key(key.Tenant, key.Group))
	}
	slices.SortFunc(keys, func(a, b reconcile.Key) int { return strings.Compare(a.String(), b.String()) })
	return keys, nil
}

// Rotate asks for the replacement of a machine, as of one that has drifted. It is
// forgotten when this process leads no more.
func (g *Groups) Rotate(tenant, group, instanceID string) {
	g.mu.Lock()
	if len(g.asked) < maxAsked {
		g.asked[instanceID] = true
	}
	g.mu.Unlock()
	g.opts.Kick(Key(tenant, group))
}

// maxAsked bounds the rotations that are asked for at once.
const maxAsked = 10_000

func (g *Groups) isAsked(instanceID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked[instanceID]
}

// answered forgets that somebody wanted a machine to be replaced: it goes.
func (g *Groups) answered(instanceID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.asked, instanceID)
}

func (g *Groups) memoryOf(of config.GroupKey) *memory {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.memory[of]
	if m == nil {
		m = newMemory()
		g.memory[of] = m
	}
	return m
}

func (g *Groups) forget(of config.GroupKey) {
	g.gate.leave(of.Tenant + "/" + of.Group)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.memory, of)
}

func (g *Groups) kickAll(ctx context.Context) {
	keys, err := g.List(ctx)
	if err != nil {
		g.opts.Logger.WarnContext(ctx, "the groups could not be listed", "error", err)
	}
	for _, key := range keys {
		if key.Kind == KindGroup {
			g.opts.Kick(key)
		}
	}
}
