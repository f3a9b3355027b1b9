package hosting

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/provider"
)

// putManifest keeps the manifest of a lease that is about to leave its volumes.
func (s *sets) putManifest(ctx context.Context, id string, payload []byte) error {
	rec, err := s.store.Get(ctx, leftPrefix+id)
	switch {
	case err == nil && string(rec.Value) == string(payload):
		return nil
	case err != nil && !errors.Is(err, provider.ErrNotFound):
		return fmt.Errorf("read %s: %w", leftPrefix+id, err)
	}
	if _, err := s.store.Put(ctx, leftPrefix+id, payload, rec.Version); err != nil {
		return fmt.Errorf("write %s: %w", leftPrefix+id, err)
	}
	return nil
}

// manifest is that of the lease that left a set; provider.ErrNotFound is that it had
// none.
func (s *sets) manifest(ctx context.Context, id string) ([]byte, error) {
	rec, err := s.store.Get(ctx, leftPrefix+id)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", leftPrefix+id, err)
	}
	return rec.Value, nil
}

func (s *sets) dropManifest(ctx context.Context, id string) error {
	rec, err := s.store.Get(ctx, leftPrefix+id)
	if err == nil {
		err = s.store.Delete(ctx, leftPrefix+id, rec.Version)
	}
	if err != nil && !errors.Is(err, provider.ErrNotFound) {
		return fmt.Errorf("delete %s: %w", leftPrefix+id, err)
	}
	return nil
}

// dropStrays deletes the manifests that no set needs: a crash came between the two.
// Nobody may ask for anything yet.
func (s *sets) dropStrays(ctx context.Context) error {
	keys, err := s.store.List(ctx, leftPrefix)
	if err != nil {
		return fmt.Errorf("list the manifests of leases that were left: %w", err)
	}
	for _, key := range keys {
		id := strings.TrimPrefix(key, leftPrefix)
		if one := s.get(id); one != nil && one.Left != nil {
			continue
		}
		if err := s.dropManifest(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
