package hosting

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/provider"
)

func manifestKey(lease string, version int) string {
	return fmt.Sprintf("%s%s/%08d", manifestPrefix, lease, version)
}

// putManifest keeps a manifest before a row names its version. A version that a
// request left without a row is written over, or goes with the next change.
func (s *rows) putManifest(ctx context.Context, lease string, version int, payload []byte) error {
	key := manifestKey(lease, version)
	var before provider.Version
	rec, err := s.store.Get(ctx, key)
	switch {
	case err == nil && string(rec.Value) == string(payload):
		return nil
	case err == nil:
		before = rec.Version
	case !errors.Is(err, provider.ErrNotFound):
		return fmt.Errorf("read manifest %d of lease %s: %w", version, lease, err)
	}
	if _, err := s.store.Put(ctx, key, payload, before); err != nil {
		s.setDoubt(lease) // so that it goes, if it is there
		return fmt.Errorf("write manifest %d of lease %s: %w", version, lease, err)
	}
	return nil
}

func (s *rows) manifest(ctx context.Context, lease string, version int) ([]byte, error) {
	rec, err := s.store.Get(ctx, manifestKey(lease, version))
	if err != nil {
		return nil, fmt.Errorf("read manifest %d of lease %s: %w", version, lease, err)
	}
	return rec.Value, nil
}

// keepManifests deletes the manifests of a lease, but for those of some releases. Its
// caller has the turn, so that no request has put one that a row is to name.
func (s *rows) keepManifests(ctx context.Context, lease string, of []release) error {
	keep := make(map[string]bool, len(of))
	for _, rel := range of {
		keep[manifestKey(lease, rel.Version)] = true
	}
	keys, err := s.store.List(ctx, manifestPrefix+lease+"/")
	if err != nil {
		return fmt.Errorf("list the manifests of lease %s: %w", lease, err)
	}
	for _, key := range keys {
		if keep[key] {
			continue
		}
		if err := s.dropManifest(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// dropStrays deletes the manifests of requests that a crash left without a row, of
// leases that are not known. Nobody may ask for anything yet.
func (s *rows) dropStrays(ctx context.Context) error {
	keys, err := s.store.List(ctx, manifestPrefix)
	if err != nil {
		return fmt.Errorf("list the manifests: %w", err)
	}
	for _, key := range keys {
		lease, _, _ := strings.Cut(strings.TrimPrefix(key, manifestPrefix), "/")
		if s.get(lease).row != nil {
			continue
		}
		if err := s.dropManifest(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

func (s *rows) dropManifest(ctx context.Context, key string) error {
	rec, err := s.store.Get(ctx, key)
	if err == nil {
		err = s.store.Delete(ctx, key, rec.Version)
	}
	if err != nil && !errors.Is(err, provider.ErrNotFound) {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}
