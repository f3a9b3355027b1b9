package provider

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// MemoryStore is a StateStore that is gone with its process. Make it with
// NewMemoryStore.
type MemoryStore struct {
	mu      sync.Mutex
	records map[string]Record
	writes  int
}

var _ StateStore = (*MemoryStore)(nil)

// NewMemoryStore returns one that is empty.
func NewMemoryStore() *MemoryStore { return &MemoryStore{records: map[string]Record{}} }

// Get implements StateStore.
func (s *MemoryStore) Get(ctx context.Context, key string) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	if err := CheckKey(key); err != nil {
		return Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[key]
	if !ok {
		return Record{}, fmt.Errorf("%w: record %s", ErrNotFound, key)
	}
	r.Value = bytes.Clone(r.Value)
	return r, nil
}

// Put implements StateStore.
func (s *MemoryStore) Put(ctx context.Context, key string, value []byte, prior Version) (Version, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := CheckKey(key); err != nil {
		return "", err
	}
	if err := CheckValue(value); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records[key].Version != prior {
		return "", fmt.Errorf("%w: record %s is not the version that was expected", ErrConflict, key)
	}
	s.writes++
	version := Version(strconv.Itoa(s.writes))
	s.records[key] = Record{Value: bytes.Clone(value), Version: version}
	return version, nil
}

// Delete implements StateStore.
func (s *MemoryStore) Delete(ctx context.Context, key string, prior Version) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := CheckKey(key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[key]
	switch {
	case !ok:
		return fmt.Errorf("%w: record %s", ErrNotFound, key)
	case r.Version != prior:
		return fmt.Errorf("%w: record %s is not the version that was expected", ErrConflict, key)
	}
	delete(s.records, key)
	return nil
}

// List implements StateStore.
func (s *MemoryStore) List(ctx context.Context, prefix string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := CheckPrefix(prefix); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := []string{}
	for key := range s.records {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
