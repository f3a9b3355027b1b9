package hosting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// rows keeps every lease in the store and, for reading, in memory. Nobody else
// writes these rows.
type rows struct {
	store provider.StateStore

	mu    sync.RWMutex
	known map[string]kept
	order []string // the leases that are known, sorted
	// owner is the lease of each workload.
	owner map[id.ID]string
}

// kept is a row as the store has it. Nobody changes it.
type kept struct {
	row     *row
	version provider.Version
}

const (
	leasePrefix    = "leases/"
	manifestPrefix = "manifests/"
)

// openRows reads all rows.
func openRows(ctx context.Context, store provider.StateStore) (*rows, error) {
	keys, err := store.List(ctx, leasePrefix)
	if err != nil {
		return nil, fmt.Errorf("list the leases: %w", err)
	}
	out := &rows{store: store, known: make(map[string]kept, len(keys)), owner: map[id.ID]string{}}
	for _, key := range keys {
		rec, err := store.Get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
		r, err := decodeRow(rec.Value)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
		out.note(r.Lease, kept{r, rec.Version})
	}
	return out, nil
}

// get is a lease's row, nil when there is none.
func (s *rows) get(lease string) kept {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known[lease]
}

// put writes a row in the place of the one that was read. One that somebody else
// changed meanwhile is provider.ErrConflict.
func (s *rows) put(ctx context.Context, r *row, before provider.Version) (kept, error) {
	b, err := r.encode()
	if err != nil {
		return kept{}, err
	}
	version, err := s.store.Put(ctx, leasePrefix+r.Lease, b, before)
	if err != nil && !errors.Is(err, provider.ErrConflict) {
		s.reread(ctx, r.Lease) // either may be there
	}
	if err != nil {
		return kept{}, fmt.Errorf("write lease %s: %w", r.Lease, err)
	}
	k := kept{r, version}
	s.note(r.Lease, k)
	return k, nil
}

// drop deletes a row.
func (s *rows) drop(ctx context.Context, k kept) error {
	err := s.store.Delete(ctx, leasePrefix+k.row.Lease, k.version)
	if err != nil && !errors.Is(err, provider.ErrNotFound) {
		s.reread(ctx, k.row.Lease)
		return fmt.Errorf("delete lease %s: %w", k.row.Lease, err)
	}
	s.note(k.row.Lease, kept{})
	return nil
}

// reread takes over what the store has after a write of which nobody knows whether
// it was made. Where that cannot be read the row stays as it was known, and the
// next write of it is a conflict.
func (s *rows) reread(ctx context.Context, lease string) {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	rec, err := s.store.Get(ctx, leasePrefix+lease)
	switch {
	case errors.Is(err, provider.ErrNotFound):
		s.note(lease, kept{})
	case err == nil:
		if r, err := decodeRow(rec.Value); err == nil {
			s.note(lease, kept{r, rec.Version})
		}
	}
}

func (s *rows) note(lease string, k kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, had := s.known[lease]
	if had {
		old.row.eachWorkload(func(w id.ID) { delete(s.owner, w) })
	}
	if k.row != nil {
		k.row.eachWorkload(func(w id.ID) { s.owner[w] = lease })
	}
	at, _ := slices.BinarySearch(s.order, lease)
	switch {
	case k.row == nil && had:
		delete(s.known, lease)
		s.order = slices.Delete(s.order, at, at+1)
	case k.row != nil:
		s.known[lease] = k
		if !had {
			s.order = slices.Insert(s.order, at, lease)
		}
	}
}

// ownerOf is the lease of a workload; "" when it is nobody's.
func (s *rows) ownerOf(workload id.ID) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.owner[workload]
}

// page is the rows after a lease, at most limit of them (0: all), and whether there
// are more.
func (s *rows) page(after string, limit int) (page []*row, more bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	at := 0
	if after != "" {
		var found bool
		if at, found = slices.BinarySearch(s.order, after); found {
			at++
		}
	}
	rest := s.order[at:]
	if limit > 0 && len(rest) > limit {
		rest, more = rest[:limit], true
	}
	page = make([]*row, len(rest))
	for i, lease := range rest {
		page[i] = s.known[lease].row
	}
	return page, more
}

func manifestKey(lease string, version int) string {
	return fmt.Sprintf("%s%s/%08d", manifestPrefix, lease, version)
}

// putManifest keeps a manifest before a row names its version. A version that a
// request left without a row is written over.
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

// dropManifests deletes what is kept of a lease beside its row.
func (s *rows) dropManifests(ctx context.Context, lease string) error {
	keys, err := s.store.List(ctx, manifestPrefix+lease+"/")
	if err != nil {
		return fmt.Errorf("list the manifests of lease %s: %w", lease, err)
	}
	for _, key := range keys {
		rec, err := s.store.Get(ctx, key)
		if err == nil {
			err = s.store.Delete(ctx, key, rec.Version)
		}
		if err != nil && !errors.Is(err, provider.ErrNotFound) {
			return fmt.Errorf("delete %s: %w", strings.TrimPrefix(key, manifestPrefix), err)
		}
	}
	return nil
}

// unknown is the error for a lease that there is not.
func unknown(lease string) error { return fmt.Errorf("lease %s: %w", lease, backend.ErrNotProvisioned) }
