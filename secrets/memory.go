package secrets

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a Vault that is gone with its process: for tests, and for library
// users who bring the values themselves at every start.
type Memory struct {
	now func() time.Time

	mu      sync.RWMutex
	tenants map[string]*memoryTenant
}

var _ Vault = (*Memory)(nil)

type memoryTenant struct {
	// floor is the highest version of a secret that was deleted.
	floor Version
	keys  map[string][]memoryValue // in order of version, never empty
}

type memoryValue struct {
	version Version
	secret  Secret
	at      time.Time
}

// NewMemory returns an empty vault.
func NewMemory(opts ...Option) *Memory {
	return &Memory{now: newOptions(opts).now, tenants: map[string]*memoryTenant{}}
}

// Put implements Vault.
func (m *Memory) Put(ctx context.Context, ref Ref, s Secret) (Version, error) {
	if err := cmp.Or(ctx.Err(), ref.Check(), CheckValue(s)); err != nil {
		return 0, fmt.Errorf("put secret: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tenants[ref.Tenant]
	if t == nil {
		t = &memoryTenant{keys: map[string][]memoryValue{}}
		m.tenants[ref.Tenant] = t
	}
	next, values := t.floor+1, t.keys[ref.Key]
	if n := len(values); n > 0 {
		newest := values[n-1]
		if newest.secret.Equal(s) {
			return newest.version, nil
		}
		next = newest.version + 1
	}
	t.keys[ref.Key] = append(values, memoryValue{next, s, m.now().UTC()})
	return next, nil
}

// Get implements Vault.
func (m *Memory) Get(ctx context.Context, ref Ref, v Version) (Secret, Version, error) {
	if err := cmp.Or(ctx.Err(), ref.Check()); err != nil {
		return Secret{}, 0, fmt.Errorf("get secret: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	values := m.values(ref)
	if v == 0 && len(values) > 0 {
		newest := values[len(values)-1]
		return newest.secret, newest.version, nil
	}
	for _, o := range values {
		if o.version == v {
			return o.secret, v, nil
		}
	}
	return Secret{}, 0, notFound(ref, v)
}

func (m *Memory) values(ref Ref) []memoryValue {
	if t := m.tenants[ref.Tenant]; t != nil {
		return t.keys[ref.Key]
	}
	return nil
}

// List implements Vault.
func (m *Memory) List(ctx context.Context, tenant string) ([]Metadata, error) {
	if err := cmp.Or(ctx.Err(), CheckTenant(tenant)); err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	t := m.tenants[tenant]
	if t == nil {
		return nil, nil
	}
	all := make([]Metadata, 0, len(t.keys))
	for _, key := range slices.SortedFunc(maps.Keys(t.keys), strings.Compare) {
		values := t.keys[key]
		first, newest := values[0], values[len(values)-1]
		all = append(all, Metadata{Key: key, Version: newest.version, CreatedAt: first.at, UpdatedAt: newest.at})
	}
	return all, nil
}

// Delete implements Vault.
func (m *Memory) Delete(ctx context.Context, ref Ref) error {
	if err := cmp.Or(ctx.Err(), ref.Check()); err != nil {
		return fmt.Errorf("delete secret: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if values := m.values(ref); len(values) > 0 {
		t := m.tenants[ref.Tenant]
		t.floor = max(t.floor, values[len(values)-1].version)
		delete(t.keys, ref.Key)
	}
	return nil
}

// notFound names what is not there.
func notFound(ref Ref, v Version) error {
	if v == 0 {
		return fmt.Errorf("%w: %s", ErrNotFound, ref)
	}
	return fmt.Errorf("%w: %s version %d", ErrNotFound, ref, v)
}
