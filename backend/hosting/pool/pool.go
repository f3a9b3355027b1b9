package pool

import (
	"fmt"
	"slices"
	"sync"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/sku"
)

// Pool allocates. Many may use it at once; no call waits for more than a lock.
type Pool struct {
	cfg Config

	mu    sync.Mutex
	books *ledger
}

// New makes a pool that nobody holds anything of. What is wrong with the
// configuration is an ErrConfig, all of it.
func New(cfg Config) (*Pool, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Pool{cfg: cfg, books: newLedger()}, nil
}

// Reserve allocates all instances of a new lease, or none.
//
//   - It does nothing, with no error, where the lease holds the same already.
//   - backend.ErrAlreadyProvisioned: it holds something else. See Resize.
//   - backend.ErrInvalidState: data of the lease is retained. See Adopt.
//   - backend.ErrInsufficientResources: it would go beyond what is free or beyond the
//     tenant's quota. The text has each resource that lacks, how much is needed and
//     how much is left.
//   - backend.ErrValidation: instances that are out of bounds or not distinct.
func (p *Pool) Reserve(lease, tenant string, instances []Instance) error {
	return p.reserve(lease, "", tenant, instances)
}

// Adopt is Reserve for a lease that takes over the data retained of another lease of
// the tenant. Of disk it needs only what it is to have more than is retained.
// Release of the lease undoes it, Forget of the other completes it.
//
// The errors are those of Reserve, and
//   - backend.ErrNotRetained: nothing is retained of the other lease, or it was
//     another tenant's;
//   - backend.ErrInvalidState: a third lease is adopting it.
func (p *Pool) Adopt(lease, from, tenant string, instances []Instance) error {
	if from == "" || from == lease {
		return fmt.Errorf("%w: a lease adopts the data of another one", backend.ErrValidation)
	}
	return p.reserve(lease, from, tenant, instances)
}

func (p *Pool) reserve(lease, from, tenant string, instances []Instance) error {
	size, err := sum(lease, instances)
	if err != nil {
		return err
	}
	h := &holding{tenant: tenant, instances: slices.Clone(instances), size: size, from: from}
	p.mu.Lock()
	defer p.mu.Unlock()
	if held := p.books.live[lease]; held != nil {
		// An adoption that was completed is the same as it was.
		sameFrom := held.from == from || held.from == "" && p.books.retained[from] == nil
		if sameFrom && held.tenant == tenant && sameInstances(held.instances, instances) {
			return nil
		}
		return fmt.Errorf("%w: %s holds other resources", backend.ErrAlreadyProvisioned, lease)
	}
	if p.books.retained[lease] != nil {
		return fmt.Errorf("%w: data of %s is retained, and is restored to another lease", backend.ErrInvalidState, lease)
	}
	if from != "" {
		if err := p.adoptable(from, tenant); err != nil {
			return err
		}
	}
	if err := p.gate(tenant, size, p.books.overlap(h)); err != nil {
		return err
	}
	if !p.books.add(lease, h) {
		return errTooMuch
	}
	return nil
}

// adoptable does not tell whose the data is.
func (p *Pool) adoptable(from, tenant string) error {
	r := p.books.retained[from]
	if r == nil || r.tenant != tenant {
		return fmt.Errorf("%w: %s", backend.ErrNotRetained, from)
	}
	if r.by != "" {
		return fmt.Errorf("%w: the data of %s is being restored already", backend.ErrInvalidState, from)
	}
	return nil
}

// Resize gives a lease other instances, all of them or none: where it fails, the
// lease holds what it held. Only what it grows by must have room. The errors are
// those of Reserve, and backend.ErrNotProvisioned for a lease that holds nothing.
func (p *Pool) Resize(lease string, instances []Instance) error {
	size, err := sum(lease, instances)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.books.live[lease]
	if old == nil {
		return fmt.Errorf("%w: %s holds nothing", backend.ErrNotProvisioned, lease)
	}
	h := &holding{tenant: old.tenant, instances: slices.Clone(instances), size: size, from: old.from}
	shared := p.books.overlap(h) - p.books.overlap(old)
	if err := p.gate(h.tenant, size.Sub(old.size), shared); err != nil {
		return err
	}
	p.books.remove(lease)
	if !p.books.add(lease, h) {
		p.books.add(lease, old) // it was there, so that it can be counted
		return errTooMuch
	}
	return nil
}

// Release takes back what a lease holds. What it was adopting is retained as before.
// A lease that holds nothing is no error.
func (p *Pool) Release(lease string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.books.remove(lease)
}

// Retain takes back what a lease holds but for diskMB, which is counted as retained
// until Forget. It is not refused for want of room, as the bytes are there; it may be
// said of a lease that holds nothing, and again with another number.
//
//   - backend.ErrInvalidState: the lease is adopting, so that its data is still the
//     other one's (Release it, or Forget the other first), or its data is being
//     adopted.
//   - backend.ErrValidation: diskMB is out of bounds.
func (p *Pool) Retain(lease, tenant string, diskMB int64) error {
	if err := checkRetained(lease, diskMB); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.books.live[lease]; h != nil && h.from != "" {
		return fmt.Errorf("%w: %s is being restored from %s", backend.ErrInvalidState, lease, h.from)
	}
	before := p.books.retained[lease]
	if before != nil && before.by != "" {
		return fmt.Errorf("%w: the data of %s is being restored", backend.ErrInvalidState, lease)
	}
	live := p.books.live[lease]
	p.books.remove(lease)
	p.books.forget(lease)
	if p.books.retain(lease, &retention{tenant: tenant, diskMB: diskMB}) {
		return nil
	}
	// Both were there, so that they can be counted.
	if before != nil {
		p.books.retain(lease, before)
	}
	if live != nil {
		p.books.add(lease, live)
	}
	return errTooMuch
}

func checkRetained(lease string, diskMB int64) error {
	if lease == "" || diskMB < 0 || diskMB > backend.MaxQuantity*sku.MaxDiskMB {
		return fmt.Errorf("%w: retained disk is that of a lease, from 0 to %d MB", backend.ErrValidation, backend.MaxQuantity*sku.MaxDiskMB)
	}
	return nil
}

// Forget ends the retention of a lease's disk: its bytes are gone, or are those of
// the lease that adopted them. A lease of which nothing is retained is no error.
func (p *Pool) Forget(lease string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.books.forget(lease)
}

// sameInstances does not ask for an order.
func sameInstances(a, b []Instance) bool {
	if len(a) != len(b) {
		return false
	}
	if slices.Equal(a, b) {
		return true
	}
	sizes := make(map[string]sku.Size, len(a))
	for _, i := range a {
		sizes[i.ID] = i.Size
	}
	for _, i := range b {
		if size, there := sizes[i.ID]; !there || size != i.Size {
			return false
		}
	}
	return true
}
