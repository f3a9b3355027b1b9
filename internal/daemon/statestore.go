package daemon

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

// stateStore keeps what providers must not forget in the daemon's store.
type stateStore struct{ records store.RecordStore }

var _ provider.StateStore = stateStore{}

// Get implements provider.StateStore.
func (s stateStore) Get(ctx context.Context, key string) (provider.Record, error) {
	if err := provider.CheckKey(key); err != nil {
		return provider.Record{}, err
	}
	value, version, err := s.records.GetRecord(ctx, key)
	if err != nil {
		return provider.Record{}, stateError(err)
	}
	return provider.Record{Value: value, Version: versionText(version)}, nil
}

// Put implements provider.StateStore.
func (s stateStore) Put(ctx context.Context, key string, value []byte, prior provider.Version) (provider.Version, error) {
	if err := provider.CheckKey(key); err != nil {
		return "", err
	}
	if err := provider.CheckValue(value); err != nil {
		return "", err
	}
	before, err := versionNumber(key, prior)
	if err != nil {
		return "", err
	}
	version, err := s.records.PutRecord(ctx, key, value, before)
	if err != nil {
		return "", stateError(err)
	}
	return versionText(version), nil
}

// Delete implements provider.StateStore.
func (s stateStore) Delete(ctx context.Context, key string, prior provider.Version) error {
	if err := provider.CheckKey(key); err != nil {
		return err
	}
	before, err := versionNumber(key, prior)
	if err != nil {
		// No record ever had such a version: what is there decides.
		if _, _, gerr := s.records.GetRecord(ctx, key); gerr != nil {
			return stateError(gerr)
		}
		return err
	}
	return stateError(s.records.DeleteRecord(ctx, key, before))
}

// List implements provider.StateStore.
func (s stateStore) List(ctx context.Context, prefix string) ([]string, error) {
	if err := provider.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	keys, err := s.records.ListRecords(ctx, prefix)
	return keys, stateError(err)
}

func versionText(v int64) provider.Version { return provider.Version(strconv.FormatInt(v, 10)) }

func versionNumber(key string, v provider.Version) (int64, error) {
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n <= 0 || versionText(n) != v {
		return 0, fmt.Errorf("record %s has no version %q: %w", key, string(v), provider.ErrConflict)
	}
	return n, nil
}

// stateError says in the provider's words what the store said in its own.
func stateError(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%w: %w", provider.ErrNotFound, err)
	case errors.Is(err, store.ErrConflict):
		return fmt.Errorf("%w: %w", provider.ErrConflict, err)
	}
	return err
}
