package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/berth-cloud/berth/provider"
)

// Store is a provider.StateStore that is gone with its process.
type Store struct {
	mu      sync.Mutex
	records map[string]provider.Record
	writes  int
}

var _ provider.StateStore = (*Store)(nil)

// NewStore returns one that is empty.
func NewStore() *Store { return &Store{records: map[string]provider.Record{}} }

// Get implements provider.StateStore.
func (s *Store) Get(ctx context.Context, key string) (provider.Record, error) {
	if err := ctx.Err(); err != nil {
		return provider.Record{}, err
	}
	if err := provider.CheckKey(key); err != nil {
		return provider.Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[key]
	if !ok {
		return provider.Record{}, fmt.Errorf("%w: record %s", provider.ErrNotFound, key)
	}
	r.Value = bytes.Clone(r.Value)
	return r, nil
}

// Put implements provider.StateStore.
func (s *Store) Put(ctx context.Context, key string, value []byte, prior provider.Version) (provider.Version, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := provider.CheckKey(key); err != nil {
		return "", err
	}
	if err := provider.CheckValue(value); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records[key].Version != prior {
		return "", fmt.Errorf("%w: record %s is not the version that was expected", provider.ErrConflict, key)
	}
	s.writes++
	version := provider.Version(strconv.Itoa(s.writes))
	s.records[key] = provider.Record{Value: bytes.Clone(value), Version: version}
	return version, nil
}

// Delete implements provider.StateStore.
func (s *Store) Delete(ctx context.Context, key string, prior provider.Version) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := provider.CheckKey(key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[key]
	switch {
	case !ok:
		return fmt.Errorf("%w: record %s", provider.ErrNotFound, key)
	case r.Version != prior:
		return fmt.Errorf("%w: record %s is not the version that was expected", provider.ErrConflict, key)
	}
	delete(s.records, key)
	return nil
}

// List implements provider.StateStore.
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := provider.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.Sorted(maps.Keys(s.records))
	return slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, prefix) }), nil
}
