package records

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/dockerprovider/keylock"
	"github.com/berth-cloud/berth/provider"
)

// Store keeps the documents of one provider. It is safe for concurrent use.
type Store struct {
	state  provider.StateStore
	prefix string
	now    func() time.Time

	locks     keylock.Locks
	workloads cache[Workload]
	networks  cache[Network]
}

// New makes a store whose keys begin with prefix and a slash.
func New(state provider.StateStore, prefix string, now func() time.Time) *Store {
	return &Store{state: state, prefix: prefix, now: now}
}

const (
	workloadDir = "workloads"
	networkDir  = "networks"
	logDir      = "logs"
)

func (s *Store) key(parts ...string) string { return s.prefix + "/" + strings.Join(parts, "/") }

func (s *Store) workloadKey(workload id.ID) string { return s.key(workloadDir, workload.String()) }

// Load reads a workload. What it returns is as new as the StateStore. There
// being none is provider.ErrNotFound.
func (s *Store) Load(ctx context.Context, workload id.ID) (*Workload, error) {
	w, err := load(ctx, s, &s.workloads, s.workloadKey(workload), workloadSchema)
	if err != nil {
		return nil, fmt.Errorf("record of %s: %w", workload, err)
	}
	return w, nil
}

// Known is the workload as this process last saw it, or read.
func (s *Store) Known(ctx context.Context, workload id.ID) (*Workload, error) {
	if w := s.workloads.get(s.workloadKey(workload)); w != nil {
		return w.value, nil
	}
	return s.Load(ctx, workload)
}

// Update changes a workload. change gets a copy to work on, of nil when there
// is none yet, and may be called more than once; what it returns is written. An error
// of change ends it.
func (s *Store) Update(ctx context.Context, workload id.ID, change func(*Workload) (*Workload, error)) (*Workload, error) {
	w, err := update(ctx, s, &s.workloads, s.workloadKey(workload), workloadSchema, func(w *Workload) (*Workload, error) {
		next, err := change(w)
		if err == nil && next != nil {
			next.Schema, next.ID = schema, workload
			next.prune()
		}
		return next, err
	})
	if err != nil {
		return nil, fmt.Errorf("record of %s: %w", workload, err)
	}
	return w, nil
}

// Change is Update of a workload that is there.
func (s *Store) Change(ctx context.Context, workload id.ID, change func(*Workload) error) (*Workload, error) {
	return s.Update(ctx, workload, func(w *Workload) (*Workload, error) {
		if w == nil {
			return nil, provider.ErrNotFound
		}
		return w, change(w)
	})
}

// Drop forgets a workload and its kept logs. Without any it succeeds.
func (s *Store) Drop(ctx context.Context, workload id.ID) error {
	if err := s.dropLogs(ctx, workload); err != nil {
		return err
	}
	if err := drop(ctx, s, &s.workloads, s.workloadKey(workload)); err != nil {
		return fmt.Errorf("record of %s: %w", workload, err)
	}
	return nil
}

// List is the ids of all workloads, sorted.
func (s *Store) List(ctx context.Context) ([]id.ID, error) {
	keys, err := s.state.List(ctx, s.key(workloadDir)+"/")
	if err != nil {
		return nil, fmt.Errorf("list the records of workloads: %w", err)
	}
	var out []id.ID
	for _, key := range keys {
		if v, err := id.Parse(key[strings.LastIndex(key, "/")+1:]); err == nil {
			out = append(out, v)
		}
	}
	return out, nil
}

func workloadSchema(w *Workload) int { return w.Schema }

// retries bounds how often a change is repeated because somebody else changed
// the same document in between.
const retries = 20

// load reads a document, decoding it only when it changed.
func load[T any](ctx context.Context, s *Store, c *cache[T], key string, version func(*T) int) (*T, error) {
	rec, err := s.state.Get(ctx, key)
	if err != nil {
		c.forget(key)
		return nil, err
	}
	if held := c.get(key); held != nil && held.version == rec.Version {
		return held.value, nil
	}
	value, err := decode(rec.Value, version)
	if err != nil {
		return nil, err
	}
	c.put(key, &cached[T]{value: value, raw: rec.Value, version: rec.Version})
	return value, nil
}

func decode[T any](raw []byte, version func(*T) int) (*T, error) {
	value := new(T)
	if err := json.Unmarshal(raw, value); err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	if v := version(value); v != schema {
		return nil, fmt.Errorf("it has version %d, this program knows version %d", v, schema)
	}
	return value, nil
}

// update is a compare-and-swap, repeated while others are first. A nil result
// of change writes nothing.
func update[T any](ctx context.Context, s *Store, c *cache[T], key string, version func(*T) int, change func(*T) (*T, error)) (*T, error) {
	release, err := s.locks.Lock(ctx, key)
	if err != nil {
		return nil, err
	}
	defer release()
	for range retries {
		held := c.get(key)
		if held == nil {
			_, err := load(ctx, s, c, key, version)
			if err != nil && !errors.Is(err, provider.ErrNotFound) {
				return nil, err
			}
			held = c.get(key)
		}
		next, raw, err := apply(held, version, change)
		if err != nil || next == nil {
			return next, err
		}
		var prior provider.Version
		if held != nil {
			if bytes.Equal(raw, held.raw) {
				return held.value, nil
			}
			prior = held.version
		}
		written, err := s.state.Put(ctx, key, raw, prior)
		if err == nil {
			// Read back: what change put in may be shared with whoever called it.
			value, err := decode(raw, version)
			if err != nil {
				return nil, err
			}
			c.put(key, &cached[T]{value: value, raw: raw, version: written})
			return value, nil
		}
		c.forget(key) // what is there now is anybody's guess
		if !errors.Is(err, provider.ErrConflict) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: it was changed by others %d times in a row", provider.ErrUnavailable, retries)
}

// apply makes the next value from a copy of the present one.
func apply[T any](held *cached[T], version func(*T) int, change func(*T) (*T, error)) (*T, []byte, error) {
	var copied *T
	if held != nil {
		var err error
		if copied, err = decode(held.raw, version); err != nil {
			return nil, nil, err
		}
	}
	next, err := change(copied)
	if err != nil || next == nil {
		return nil, nil, err
	}
	raw, err := json.Marshal(next)
	if err != nil {
		return nil, nil, err
	}
	return next, raw, nil
}

// drop deletes a document, whatever its version.
func drop[T any](ctx context.Context, s *Store, c *cache[T], key string) error {
	release, err := s.locks.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	defer c.forget(key)
	for range retries {
		rec, err := s.state.Get(ctx, key)
		if err == nil {
			err = s.state.Delete(ctx, key, rec.Version)
		}
		switch {
		case err == nil, errors.Is(err, provider.ErrNotFound):
			return nil
		case !errors.Is(err, provider.ErrConflict):
			return err
		}
	}
	return fmt.Errorf("%w: it was changed by others %d times in a row", provider.ErrUnavailable, retries)
}
