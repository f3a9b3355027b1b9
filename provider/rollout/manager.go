package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Manager brings releases of workloads to their providers. Its methods may be called
// from many goroutines, and by several processes that share a store. It has no
// goroutine of its own and keeps nothing in memory that a crash could lose.
type Manager struct {
	store     provider.StateStore
	providers Providers
	opts      Options
	locks     locks
}

// New makes a Manager on a store.
func New(store provider.StateStore, providers Providers, opts Options) *Manager {
	return &Manager{store: store, providers: providers, opts: opts.withDefaults()}
}

// now is the time that records are stamped with: UTC, without what JSON loses.
func (m *Manager) now() time.Time { return m.opts.Now().UTC().Round(0) }

// What a function given to update returns to stop it.
var (
	// errNoChange means that the record is already as wanted.
	errNoChange = errors.New("rollout: nothing to write")

	// errMoved means that the record is no longer what the decision was made on.
	errMoved = errors.New("rollout: the record has moved on")
)

// maxSwaps is how often update begins anew because another writer was faster.
const maxSwaps = 32

func (m *Manager) key(workload id.ID) (string, error) {
	if workload.IsNil() {
		return "", fmt.Errorf("%w: no workload is named", provider.ErrInvalid)
	}
	return provider.Key(m.opts.Prefix, workload.String())
}

// load reads the record of a workload. There being none is ErrNotFound.
func (m *Manager) load(ctx context.Context, workload id.ID) (*record, provider.Version, error) {
	key, err := m.key(workload)
	if err != nil {
		return nil, "", err
	}
	stored, err := m.store.Get(ctx, key)
	if errors.Is(err, provider.ErrNotFound) {
		return nil, "", fmt.Errorf("%w: workload %s has no releases", provider.ErrNotFound, workload)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read record of workload %s: %w", workload, err)
	}
	rec, err := decode(stored.Value)
	if err == nil && rec.Workload != workload {
		err = fmt.Errorf("%w: it is that of %s", ErrRecord, rec.Workload)
	}
	if err != nil {
		return nil, "", fmt.Errorf("record of workload %s: %w", workload, err)
	}
	return rec, stored.Version, nil
}

// update reads the record, lets change make the next one of it, and writes that if
// nobody wrote in between; else it begins anew. change may return errNoChange.
func (m *Manager) update(ctx context.Context, workload id.ID, change func(*record) error) (*record, error) {
	return m.swap(ctx, workload, func(rec *record) (*record, error) {
		if rec == nil {
			return nil, fmt.Errorf("%w: workload %s has no releases", provider.ErrNotFound, workload)
		}
		return rec, change(rec)
	})
}

// swap is update for what may also create a record: change gets nil when there
// is none.
func (m *Manager) swap(ctx context.Context, workload id.ID, change func(*record) (*record, error)) (*record, error) {
	for range maxSwaps {
		rec, version, err := m.load(ctx, workload)
		if err != nil && !errors.Is(err, provider.ErrNotFound) {
			return nil, err
		}
		var held map[string]bool
		if rec != nil && m.opts.Vault != nil {
			held = rec.configKeys(m.configPrefix(workload), "", "")
		}
		before := rec.marks()
		next, err := change(rec)
		if errors.Is(err, errNoChange) {
			return next, nil
		}
		if err != nil {
			return nil, err
		}
		next.prune(m.opts.Policy)
		err = m.put(ctx, next, version)
		if err == nil {
			m.forget(ctx, held, next)
			m.tellSince(ctx, before, next)
			return next, nil
		}
		if !errors.Is(err, provider.ErrConflict) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: the record of workload %s changed %d times while it was to be written", provider.ErrUnavailable, workload, maxSwaps)
}

func (m *Manager) put(ctx context.Context, rec *record, prior provider.Version) error {
	key, err := m.key(rec.Workload)
	if err != nil {
		return err
	}
	value, err := encode(rec)
	if err != nil {
		return err
	}
	if _, err := m.store.Put(ctx, key, value, prior); err != nil {
		return fmt.Errorf("write record of workload %s: %w", rec.Workload, err)
	}
	return nil
}

// call bounds one call of a provider.
func (m *Manager) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, m.opts.Policy.CallTimeout)
}
