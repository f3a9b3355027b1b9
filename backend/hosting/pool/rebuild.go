package pool

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/backend"
)

// Holding is what a lease holds.
type Holding struct {
	Lease     string
	Tenant    string
	Instances []Instance
	From      string // the lease whose retained data it adopts; "" for none
}

// Retained is the disk that a lease left.
type Retained struct {
	Lease  string
	Tenant string
	DiskMB int64
}

// Facts are all holdings and all that is retained.
type Facts struct {
	Holdings []Holding
	Retained []Retained
}

// Facts are those of the pool, by lease. They share nothing with it.
func (p *Pool) Facts() Facts {
	p.mu.Lock()
	defer p.mu.Unlock()
	var f Facts
	for lease, h := range p.books.live {
		f.Holdings = append(f.Holdings, Holding{Lease: lease, Tenant: h.tenant, Instances: slices.Clone(h.instances), From: h.from})
	}
	for lease, r := range p.books.retained {
		f.Retained = append(f.Retained, Retained{Lease: lease, Tenant: r.tenant, DiskMB: r.diskMB})
	}
	slices.SortFunc(f.Holdings, func(a, b Holding) int { return cmp.Compare(a.Lease, b.Lease) })
	slices.SortFunc(f.Retained, func(a, b Retained) int { return cmp.Compare(a.Lease, b.Lease) })
	return f
}

// Rebuild puts what was found in the place of what the pool has, but for the leases
// that are tracked: those that the pool knows, holding something or having left it,
// stay as they are together with what they adopt, and what was found of them is
// passed over.
//
// found must be complete: a lease that is neither in it nor tracked loses what it
// holds. A lease that changes while the lists are read must be tracked; where it is
// not, and the lists are older, the next Rebuild puts it right. Where it has a lease twice, or a size out of
// bounds, it is a backend.ErrValidation, and the pool is as it was. Room is not asked
// for. A holding that adopts what is not retained, or is another's, is counted with
// its whole disk.
func (p *Pool) Rebuild(found Facts, tracked []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := newLedger()
	if err := p.carry(next, tracked); err != nil {
		return err
	}
	for _, r := range found.Retained {
		if err := checkRetained(r.Lease, r.DiskMB); err != nil {
			return err
		}
	}
	skip := map[string]bool{}
	for lease := range next.live {
		skip[lease] = true
	}
	for lease := range next.retained {
		skip[lease] = true
	}
	if err := next.enterRetained(found.Retained, skip); err != nil {
		return err
	}
	if err := next.enterHoldings(found.Holdings, skip); err != nil {
		return err
	}
	p.books = next
	return nil
}

// carry takes over what the pool knows of leases that are tracked.
func (p *Pool) carry(next *ledger, tracked []string) error {
	keep := func(lease string) bool {
		r := p.books.retained[lease]
		return r == nil || next.retained[lease] != nil || next.retain(lease, &retention{tenant: r.tenant, diskMB: r.diskMB})
	}
	for _, lease := range tracked {
		h := p.books.live[lease]
		if !keep(lease) || h != nil && h.from != "" && !keep(h.from) {
			return errTooMuch
		}
	}
	for _, lease := range tracked {
		h := p.books.live[lease]
		if h == nil || next.live[lease] != nil {
			continue
		}
		if !next.add(lease, &holding{tenant: h.tenant, instances: h.instances, size: h.size, from: h.from}) {
			return errTooMuch
		}
	}
	return nil
}

func (l *ledger) enterRetained(found []Retained, skip map[string]bool) error {
	seen := make(map[string]bool, len(found))
	for _, r := range found {
		if seen[r.Lease] {
			return fmt.Errorf("%w: the retained disk of %s was found twice", backend.ErrValidation, r.Lease)
		}
		seen[r.Lease] = true
		if skip[r.Lease] {
			continue
		}
		if !l.retain(r.Lease, &retention{tenant: r.Tenant, diskMB: r.DiskMB}) {
			return errTooMuch
		}
	}
	return nil
}

func (l *ledger) enterHoldings(found []Holding, skip map[string]bool) error {
	seen := make(map[string]bool, len(found))
	for _, f := range found {
		size, err := sum(f.Lease, f.Instances)
		if err != nil {
			return err
		}
		if seen[f.Lease] {
			return fmt.Errorf("%w: lease %s was found twice", backend.ErrValidation, f.Lease)
		}
		seen[f.Lease] = true
		if skip[f.Lease] {
			continue
		}
		h := &holding{tenant: f.Tenant, instances: slices.Clone(f.Instances), size: size, from: f.From}
		if r := l.retained[f.From]; r == nil || r.by != "" || r.tenant != f.Tenant || f.From == f.Lease {
			h.from = ""
		}
		if !l.add(f.Lease, h) {
			return errTooMuch
		}
	}
	return nil
}
