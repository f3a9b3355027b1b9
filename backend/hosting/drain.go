package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/backend/hosting/sku"
	"github.com/berth-cloud/berth/provider"
)

// drainKey is the record that says that no lease is to come in. Without it they do.
const drainKey = "drain"

const drainFormat = 1

// Drain is whether leases are taken.
type Drain struct {
	On bool
	// Since is when it was set; zero where it is not on.
	Since time.Time
}

// drainRecord is a Drain that is on, as it is stored.
type drainRecord struct {
	Format int       `json:"format"`
	Since  time.Time `json:"since"`
}

// drain is what is known of the record. Who changes it waits for the store, who reads
// it for nobody.
type drain struct {
	changes sync.Mutex
	known   atomic.Pointer[Drain]
}

// Draining is whether leases are taken, as of the last change.
func (h *Hosting) Draining() Drain {
	if d := h.drain.known.Load(); d != nil {
		return *d
	}
	return Drain{}
}

// Drain has no lease come in any more, or ends that, and is then what holds, after a
// restart too. Provision and Restore are ErrInsufficientResources meanwhile, and the
// load that is told is a backend's that is full. Leases that are here go on: they are
// restarted, updated and deprovisioned as ever. A request that is under way when it
// is called may still be accepted.
//
// After an error it is not known which of the two is stored; what is known of it
// holds until the next call that succeeds, or the next start.
func (h *Hosting) Drain(ctx context.Context, on bool) (Drain, error) {
	h.drain.changes.Lock()
	defer h.drain.changes.Unlock()
	now, version, err := readDrain(ctx, h.cfg.Store)
	if err != nil {
		return h.Draining(), err
	}
	switch {
	case on && !now.On:
		now = Drain{On: true, Since: h.cfg.Now().UTC()}
		var b []byte
		if b, err = json.Marshal(drainRecord{drainFormat, now.Since}); err == nil {
			_, err = h.cfg.Store.Put(ctx, drainKey, b, version)
		}
	case !on && now.On:
		now = Drain{}
		if err = h.cfg.Store.Delete(ctx, drainKey, version); errors.Is(err, provider.ErrNotFound) {
			err = nil
		}
	}
	if err != nil {
		return h.Draining(), fmt.Errorf("write whether leases are taken: %w", err)
	}
	h.drain.known.Store(&now)
	return now, nil
}

// openDrain reads the record when nothing is asked yet.
func (h *Hosting) openDrain(ctx context.Context) error {
	d, _, err := readDrain(ctx, h.cfg.Store)
	if err == nil {
		h.drain.known.Store(&d)
	}
	return err
}

// readDrain is an error where the record cannot be read: it may say that no lease is
// to come in.
func readDrain(ctx context.Context, store provider.StateStore) (Drain, provider.Version, error) {
	rec, err := store.Get(ctx, drainKey)
	if errors.Is(err, provider.ErrNotFound) {
		return Drain{}, "", nil
	}
	if err != nil {
		return Drain{}, "", fmt.Errorf("read whether leases are taken: %w", err)
	}
	var r drainRecord
	if err := json.Unmarshal(rec.Value, &r); err != nil {
		return Drain{}, "", fmt.Errorf("read whether leases are taken: %w", err)
	}
	if r.Format != drainFormat {
		return Drain{}, "", fmt.Errorf("read whether leases are taken: it has the form %d, and this version reads %d", r.Format, drainFormat)
	}
	return Drain{On: true, Since: r.Since}, rec.Version, nil
}

// admit refuses a lease that is not here yet while none is taken. Its caller has the
// turn and is about to reserve.
func (h *Hosting) admit() error {
	if h.Draining().On {
		return fmt.Errorf("%w: this backend is being drained and takes no new lease", backend.ErrInsufficientResources)
	}
	return nil
}

// Stats is what the pool has to offer: while no lease is taken that is what leases
// hold, so that nothing is available and whoever spreads leases goes elsewhere.
func (h *Hosting) Stats() pool.Stats {
	s := h.cfg.Pool.Stats()
	if h.Draining().On {
		s.Total, s.Available = s.Allocated, sku.Size{}
	}
	return s
}
