package hosting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/berth-cloud/berth/provider"
)

// sets keeps every set of volumes in the store and, for reading, in memory, as rows
// does with leases: whoever writes one has its turn. Who has the turn of a lease may
// take that of a set, and not the other way round.
type sets struct {
	store provider.StateStore
	turns turns

	mu    sync.RWMutex
	known map[string]keptSet
	doubt map[string]bool
	left  map[string][]string // the sets that a lease left, by the lease
}

// keptSet is a set as the store has it. Nobody changes it.
type keptSet struct {
	set     *set
	version provider.Version
}

const (
	setPrefix = "volumes/"
	// leftPrefix is where the manifests of leases are that left volumes, by the set.
	leftPrefix = "retained/"
)

// openSets reads all sets. One that cannot be read is an error: nobody would know whose
// its volumes are.
func openSets(ctx context.Context, store provider.StateStore) (*sets, error) {
	keys, err := store.List(ctx, setPrefix)
	if err != nil {
		return nil, fmt.Errorf("list the volumes: %w", err)
	}
	out := &sets{store: store, known: make(map[string]keptSet, len(keys)), doubt: map[string]bool{}, left: map[string][]string{}}
	for _, key := range keys {
		rec, err := store.Get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
		s, err := decodeSet(strings.TrimPrefix(key, setPrefix), rec.Value)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
		out.note(s.ID, keptSet{s, rec.Version})
	}
	return out, out.dropStrays(ctx)
}

// get is a set, nil when there is none. It is for readers.
func (s *sets) get(id string) *set {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known[id].set
}

// leftBy is the set that a lease left, nil when it left none. A lease that lived more than
// once may have left more: it is the last that is not being removed.
func (s *sets) leftBy(lease string) *set {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var last *set
	for _, id := range s.left[lease] {
		if one := s.known[id].set; last == nil || one.after(last) {
			last = one
		}
	}
	return last
}

// nextTurn is above that of anything that a lease left.
func (s *sets) nextTurn(lease string) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	last := 0
	for _, id := range s.left[lease] {
		last = max(last, s.known[id].set.Left.Turn)
	}
	return last + 1
}

// all are the sets, by id.
func (s *sets) all() []*set {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]*set, 0, len(s.known))
	for _, id := range slices.Sorted(maps.Keys(s.known)) {
		out = append(out, s.known[id].set)
	}
	return out
}

// doubted are the sets of which nobody knows what was written last.
func (s *sets) doubted() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.doubt))
}

func (s *sets) inDoubt(id string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.doubt[id]
}

// fresh is a set for one who has its turn: one that is in doubt is read again.
func (s *sets) fresh(ctx context.Context, id string) (keptSet, error) {
	if s.inDoubt(id) {
		if err := s.reread(ctx, id); err != nil {
			return keptSet{}, fmt.Errorf("read the volumes %s again: %w", id, err)
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known[id], nil
}

func (s *sets) reread(ctx context.Context, id string) error {
	rec, err := s.store.Get(ctx, setPrefix+id)
	if errors.Is(err, provider.ErrNotFound) {
		s.note(id, keptSet{})
		return nil
	}
	if err != nil {
		return err
	}
	one, err := decodeSet(id, rec.Value)
	if err != nil {
		return err
	}
	s.note(id, keptSet{one, rec.Version})
	return nil
}

// change has a set changed, and writes it: edit gets a clone, or nil when there is none,
// and returns what is to be written; nil is nothing. After an error the set may be in
// doubt. What is returned is the set as it is then.
func (s *sets) change(ctx context.Context, id string, edit func(*set) (*set, error)) (*set, error) {
	leave, err := s.turns.take(ctx, id)
	if err != nil {
		return nil, err
	}
	defer leave()
	for range tries {
		var k keptSet
		if k, err = s.fresh(ctx, id); err != nil {
			return nil, err
		}
		var before *set
		if k.set != nil {
			before = k.set.clone()
		}
		var next *set
		if next, err = edit(before); err != nil || next == nil {
			return k.set, err
		}
		if err = s.put(ctx, next, k.version); err == nil {
			return next, nil
		}
		if !errors.Is(err, provider.ErrConflict) {
			break
		}
	}
	return nil, err
}

func (s *sets) put(ctx context.Context, one *set, before provider.Version) error {
	b, err := one.encode()
	if err != nil {
		return err
	}
	version, err := s.store.Put(ctx, setPrefix+one.ID, b, before)
	if err != nil {
		s.setDoubt(one.ID) // either may be there
		return fmt.Errorf("write the volumes %s: %w", one.ID, err)
	}
	s.note(one.ID, keptSet{one, version})
	return nil
}

// drop deletes the record of a set of which nothing is left, if it is as it was
// read.
func (s *sets) drop(ctx context.Context, id string, sure func(*set) bool) error {
	leave, err := s.turns.take(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	k, err := s.fresh(ctx, id)
	if err != nil || k.set == nil || !sure(k.set) {
		return err
	}
	if err := s.dropManifest(ctx, id); err != nil {
		return err
	}
	if err := s.store.Delete(ctx, setPrefix+id, k.version); err != nil && !errors.Is(err, provider.ErrNotFound) {
		s.setDoubt(id)
		return fmt.Errorf("delete the volumes %s: %w", id, err)
	}
	s.note(id, keptSet{})
	return nil
}

func (s *sets) setDoubt(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubt[id] = true
}

func (s *sets) note(id string, k keptSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.doubt, id)
	if old := s.known[id].set; old != nil && old.Left != nil {
		lease := old.Left.Lease
		s.left[lease] = slices.DeleteFunc(s.left[lease], func(other string) bool { return other == id })
		if len(s.left[lease]) == 0 {
			delete(s.left, lease)
		}
	}
	if k.set == nil {
		delete(s.known, id)
		return
	}
	s.known[id] = k
	if k.set.Left != nil {
		s.left[k.set.Left.Lease] = append(s.left[k.set.Left.Lease], id)
	}
}
