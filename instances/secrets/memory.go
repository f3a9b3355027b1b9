package secrets

import (
	"context"
	"sync"
)

// Memory is a Store that is gone with its process, for tests.
type Memory struct {
	mu     sync.Mutex
	values map[string]Secret
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty Store.
func NewMemory() *Memory { return &Memory{values: map[string]Secret{}} }

// Get implements Store.
func (m *Memory) Get(ctx context.Context, name string) (Secret, error) {
	if err := begin(ctx, "get", name); err != nil {
		return Secret{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.values[name]
	if !ok {
		return Secret{}, failed("get", name, ErrNotFound)
	}
	return value, nil
}

// Set implements Store.
func (m *Memory) Set(ctx context.Context, name string, value Secret) error {
	if err := beginSet(ctx, name, value); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[name] = value
	return nil
}

// SetIfAbsent implements Store.
func (m *Memory) SetIfAbsent(ctx context.Context, name string, value Secret) error {
	if err := beginSet(ctx, name, value); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.values[name]; ok {
		return failed("set", name, ErrExists)
	}
	m.values[name] = value
	return nil
}

// Delete implements Store.
func (m *Memory) Delete(ctx context.Context, name string) error {
	if err := begin(ctx, "delete", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.values, name)
	return nil
}
