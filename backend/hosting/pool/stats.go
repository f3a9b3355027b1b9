package pool

import (
	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/sku"
	"github.com/berth-cloud/berth/backend/server"
)

// Stats is one moment of a pool. Of each resource the total is what is allocated and
// what is available, unless more is allocated than there is: nothing is available
// then.
type Stats struct {
	Total     sku.Size
	Allocated sku.Size // with the retained disk, and a disk that is adopted once
	Available sku.Size
	// RetainedDiskMB is what leases left, also where another is adopting it.
	RetainedDiskMB   int64
	ActiveContainers int // instances that are allocated
}

// Stats takes as long with many leases as with none.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	free := p.cfg.Total.Sub(p.books.used)
	return Stats{
		Total:            p.cfg.Total,
		Allocated:        p.books.used,
		Available:        sku.Size{MilliCPU: max(free.MilliCPU, 0), MemoryMB: max(free.MemoryMB, 0), DiskMB: max(free.DiskMB, 0)},
		RetainedDiskMB:   p.books.kept,
		ActiveContainers: p.books.count,
	}
}

// Load is the part of it by which leases are spread over backends.
func (s Stats) Load() *backend.LoadStats {
	return &backend.LoadStats{
		TotalCPUCores:     sku.Cores(s.Total.MilliCPU),
		AllocatedCPUCores: sku.Cores(s.Allocated.MilliCPU),
		ActiveContainers:  s.ActiveContainers,
	}
}

// Wire is what GET /stats answers.
func (s Stats) Wire() *server.Stats {
	return &server.Stats{
		LoadStats:         *s.Load(),
		AvailableCPUCores: sku.Cores(s.Available.MilliCPU),
		TotalMemoryMB:     s.Total.MemoryMB,
		AllocatedMemoryMB: s.Allocated.MemoryMB,
		AvailableMemoryMB: s.Available.MemoryMB,
		TotalDiskMB:       s.Total.DiskMB,
		AllocatedDiskMB:   s.Allocated.DiskMB,
		AvailableDiskMB:   s.Available.DiskMB,
	}
}
