package workloads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/provider"
)

// row is what a name stands for. Its key in the store is the name, so that there
// is one workload of it.
type row struct {
	Format    int       `json:"format"`
	ID        id.ID     `json:"id"`
	Name      string    `json:"name"`
	Provider  string    `json:"provider"` // the key in the registry
	Shape     shape     `json:"shape"`
	CreatedAt time.Time `json:"created_at"`

	// ScaledAt is when its size was last changed beside its release, and Scaled
	// what of it was.
	ScaledAt time.Time             `json:"scaled_at,omitzero"`
	Scaled   provider.ResourceSpec `json:"scaled,omitzero"`

	// Removing means that it is to go, and nothing else happens to it.
	Removing bool `json:"removing,omitempty"`

	version provider.Version // in the store
}

const rowFormat = 1

// Kind is that of the keys of workloads in the engine.
const Kind = "workload"

// key is the workload's key in the engine: provider and id, since a name may
// come to mean another workload.
func (r row) key() reconcile.Key {
	return reconcile.Key{Kind: Kind, Name: r.Provider + "/" + r.ID.String()}
}

// prefix begins the keys of the rows in the store.
func (s *Service) prefix() string { return "workloads/" + s.cfg.Tenant + "/" }

// row reads the row of a name. There being none is provider.ErrNotFound.
func (s *Service) row(ctx context.Context, name string) (row, error) {
	if strings.Contains(name, "/") || provider.CheckKey(s.prefix()+name) != nil {
		return row{}, noSuch(name)
	}
	rec, err := s.cfg.State.Get(ctx, s.prefix()+name)
	if errors.Is(err, provider.ErrNotFound) {
		return row{}, noSuch(name)
	}
	if err != nil {
		return row{}, fmt.Errorf("read workload %s: %w", name, err)
	}
	var r row
	if err := json.Unmarshal(rec.Value, &r); err != nil || r.Format != rowFormat {
		return row{}, fmt.Errorf("workload %s: its row cannot be read: format %d, %w", name, r.Format, err)
	}
	r.version = rec.Version
	s.names.put(r.ID, r.Name)
	return r, nil
}

// put writes a row in place of the version that was read, or as a new one.
func (s *Service) put(ctx context.Context, r *row) error {
	r.Format = rowFormat
	value, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write workload %s: %w", r.Name, err)
	}
	version, err := s.cfg.State.Put(ctx, s.prefix()+r.Name, value, r.version)
	if err != nil {
		return fmt.Errorf("write workload %s: %w", r.Name, err)
	}
	r.version = version
	s.names.put(r.ID, r.Name)
	return nil
}

// drop removes a row, and succeeds when it is gone or stands for another workload.
func (s *Service) drop(ctx context.Context, r row) error {
	err := s.cfg.State.Delete(ctx, s.prefix()+r.Name, r.version)
	if errors.Is(err, provider.ErrNotFound) {
		err = nil
	}
	if errors.Is(err, provider.ErrConflict) {
		now, readErr := s.row(ctx, r.Name)
		if errors.Is(readErr, provider.ErrNotFound) || readErr == nil && now.ID != r.ID {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("forget workload %s: %w", r.Name, err)
	}
	s.names.drop(r.ID)
	s.troubles.drop(r.ID)
	return nil
}

// edit changes a row, again when somebody else was first.
func (s *Service) edit(ctx context.Context, r row, change func(*row)) (row, error) {
	for range maxEdits {
		change(&r)
		err := s.put(ctx, &r)
		if !errors.Is(err, provider.ErrConflict) {
			return r, err
		}
		now, err := s.row(ctx, r.Name)
		if err != nil {
			return r, err
		}
		if now.ID != r.ID {
			return r, noSuch(r.Name)
		}
		r = now
	}
	return r, fmt.Errorf("%w: the row of workload %s keeps changing", provider.ErrUnavailable, r.Name)
}

const maxEdits = 16

// rows reads all rows, sorted by name.
func (s *Service) rows(ctx context.Context) ([]row, error) {
	keys, err := s.cfg.State.List(ctx, s.prefix())
	if err != nil {
		return nil, fmt.Errorf("list workloads: %w", err)
	}
	var out []row
	for _, key := range keys {
		r, err := s.row(ctx, strings.TrimPrefix(key, s.prefix()))
		if errors.Is(err, provider.ErrNotFound) {
			continue // gone since
		}
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// rowByID reads the row of a workload. There being none is provider.ErrNotFound.
func (s *Service) rowByID(ctx context.Context, workload id.ID) (row, error) {
	if name := s.names.get(workload); name != "" {
		if r, err := s.row(ctx, name); err == nil && r.ID == workload {
			return r, nil
		} else if err != nil && !errors.Is(err, provider.ErrNotFound) {
			return row{}, err
		}
	}
	all, err := s.rows(ctx)
	if err != nil {
		return row{}, err
	}
	for _, r := range all {
		if r.ID == workload {
			return r, nil
		}
	}
	return row{}, fmt.Errorf("%w: workload %s", provider.ErrNotFound, workload)
}

// names remembers which name a workload has. It may be wrong, and is checked.
type names struct {
	mu sync.Mutex
	by map[id.ID]string
}

func (n *names) put(workload id.ID, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.by == nil {
		n.by = map[id.ID]string{}
	}
	n.by[workload] = name
}

func (n *names) get(workload id.ID) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.by[workload]
}

func (n *names) drop(workload id.ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.by, workload)
}

// clip keeps a message about a long text short.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
