package hosting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// rows keeps every lease in the store and, for reading, in memory. Nobody else
// writes these rows, and whoever writes one has its turn: so what is known of a row
// is what was written last.
type rows struct {
	store provider.StateStore
	turns turns

	mu    sync.RWMutex
	known map[string]kept
	// doubt has the leases of which nobody knows whether the last write was made.
	doubt map[string]bool
	order []string // the leases that are known, sorted
	// owner is the lease of each workload.
	owner map[id.ID]string
	// wanting has the leases that have each domain, or wish for it.
	wanting map[string]map[string]bool
	// changed is told of every row that becomes another, nil being none.
	changed func(before, after *row)
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
	out := &rows{store: store, known: make(map[string]kept, len(keys)), doubt: map[string]bool{}, owner: map[id.ID]string{}, wanting: map[string]map[string]bool{}}
	for _, key := range keys {
		rec, err := store.Get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
		r, err := decodeRow(strings.TrimPrefix(key, leasePrefix), rec.Value)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
		out.note(r.Lease, kept{r, rec.Version})
	}
	return out, nil
}

// turn waits until nobody else reads a row to change it.
func (s *rows) turn(ctx context.Context, lease string) (leave func(), err error) {
	return s.turns.take(ctx, lease)
}

// get is a lease's row, nil when there is none. It is for readers: see fresh.
func (s *rows) get(lease string) kept {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known[lease]
}

// fresh is get for one who has the turn: a row that is in doubt is read again, and
// resolved says so.
func (s *rows) fresh(ctx context.Context, lease string) (k kept, resolved bool, err error) {
	if s.inDoubt(lease) {
		if err := s.reread(ctx, lease); err != nil {
			return kept{}, false, fmt.Errorf("read lease %s again: %w", lease, err)
		}
		resolved = true
	}
	return s.get(lease), resolved, nil
}

func (s *rows) inDoubt(lease string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.doubt[lease]
}

// doubted are the leases that are in doubt.
func (s *rows) doubted() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.doubt))
}

func (s *rows) setDoubt(lease string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubt[lease] = true
}

// put writes a row in the place of the one that was read. After an error the row is
// in doubt; provider.ErrConflict is one that was in doubt before.
func (s *rows) put(ctx context.Context, r *row, before provider.Version) (kept, error) {
	b, err := r.encode()
	if err != nil {
		return kept{}, err
	}
	version, err := s.store.Put(ctx, leasePrefix+r.Lease, b, before)
	if err != nil {
		s.setDoubt(r.Lease) // either may be there
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
		s.setDoubt(k.row.Lease)
		return fmt.Errorf("delete lease %s: %w", k.row.Lease, err)
	}
	s.note(k.row.Lease, kept{})
	return nil
}

// reread takes over what the store has after a write of which nobody knows whether
// it was made. Where that cannot be read the row stays in doubt.
func (s *rows) reread(ctx context.Context, lease string) error {
	rec, err := s.store.Get(ctx, leasePrefix+lease)
	if errors.Is(err, provider.ErrNotFound) {
		s.note(lease, kept{})
		return nil
	}
	if err != nil {
		return err
	}
	r, err := decodeRow(lease, rec.Value)
	if err != nil {
		return err
	}
	s.note(lease, kept{r, rec.Version})
	return nil
}

func (s *rows) note(lease string, k kept) {
	if s.changed != nil {
		before := s.get(lease).row // its writer has the turn
		defer func() { s.changed(before, k.row) }()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.doubt, lease)
	old, had := s.known[lease]
	if had {
		old.row.eachWorkload(func(w id.ID) { delete(s.owner, w) })
		old.row.eachDomain(func(domain string) { s.unwant(domain, lease) })
	}
	if k.row != nil {
		k.row.eachWorkload(func(w id.ID) { s.owner[w] = lease })
		k.row.eachDomain(func(domain string) { s.want(domain, lease) })
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

func (s *rows) want(domain, lease string) {
	if s.wanting[domain] == nil {
		s.wanting[domain] = map[string]bool{}
	}
	s.wanting[domain][lease] = true
}

func (s *rows) unwant(domain, lease string) {
	delete(s.wanting[domain], lease)
	if len(s.wanting[domain]) == 0 {
		delete(s.wanting, domain)
	}
}

// rivals are the rows that have a domain which a lease wishes for, or wish for it
// too. There are few, however many leases there are.
func (s *rows) rivals(r *row) []*row {
	s.mu.RLock()
	defer s.mu.RUnlock()
	had := map[string]bool{}
	var out []*row
	for _, w := range r.Names.Wishes {
		for lease := range s.wanting[w.Domain] {
			if !had[lease] {
				had[lease] = true
				out = append(out, s.known[lease].row)
			}
		}
	}
	return out
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

// unknown is the error for a lease that there is not.
func unknown(lease string) error { return fmt.Errorf("lease %s: %w", lease, backend.ErrNotProvisioned) }
