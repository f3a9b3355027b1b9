// Package memory is a provider.StateStore that is gone with its process.
//
// The docker provider uses it when it was given no other one, and tests do.
// What must never happen here: a value shared with a caller.
package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/berth-cloud/berth/provider"
)

// Store is the store. Make it with New.
type Store struct {
	mu      sync.Mutex
	records map[string]provider.Record
	last    uint64
}

var _ provider.StateStore = (*Store)(nil)

// New makes an empty store.
func New() *Store { return &Store{records: map[string]provider.Record{}} }

// Get implements provider.StateStore.
func (s *Store) Get(ctx context.Context, key string) (provider.Record, error) {
	if err := check(ctx, key); err != nil {
		return provider.Record{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rec, ok := s.records[key]
	if !ok {
		return rec, fmt.Errorf("%w: record %s", provider.ErrNotFound, key)
	}
	rec.Value = bytes.Clone(rec.Value)
	return rec, nil
}

// Put implements provider.StateStore.
func (s *Store) Put(ctx context.Context, key string, value []byte, prior provider.Version) (provider.Version, error) {
	if err := check(ctx, key); err != nil {
		return "", err
	}
	if err := provider.CheckValue(value); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records[key].Version != prior {
		return "", fmt.Errorf("%w: record %s", provider.ErrConflict, key)
	}
	s.last++
	version := provider.Version(strconv.FormatUint(s.last, 10))
	s.records[key] = provider.Record{Value: bytes.Clone(value), Version: version}
	return version, nil
}

// Delete implements provider.StateStore.
func (s *Store) Delete(ctx context.Context, key string, prior provider.Version) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rec, ok := s.records[key]
	switch {
	case !ok:
		return fmt.Errorf("%w: record %s", provider.ErrNotFound, key)
	case rec.Version != prior:
		return fmt.Errorf("%w: record %s", provider.ErrConflict, key)
	}
	delete(s.records, key)
	return nil
}

// List implements provider.StateStore.
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	if err := cmp.Or(ctx.Err(), provider.CheckPrefix(prefix)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for key := range s.records {
		if strings.HasPrefix(key, prefix) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out, nil
}

func check(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return provider.CheckKey(key)
}
