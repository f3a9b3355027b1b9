package pool

import (
	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/sku"
)

// Stats is what GET /stats answers. Of each resource the total is what is allocated
// and what is available, unless more is allocated than there is: nothing is available
// then. Allocated disk has the retained one in it.
type Stats struct {
	TotalCPUCores     float64 `json:"total_cpu_cores"`
	AllocatedCPUCores float64 `json:"allocated_cpu_cores"`
	AvailableCPUCores float64 `json:"available_cpu_cores"`

	TotalMemoryMB     int64 `json:"total_memory_mb"`
	AllocatedMemoryMB int64 `json:"allocated_memory_mb"`
	AvailableMemoryMB int64 `json:"available_memory_mb"`

	TotalDiskMB     int64 `json:"total_disk_mb"`
	AllocatedDiskMB int64 `json:"allocated_disk_mb"`
	AvailableDiskMB int64 `json:"available_disk_mb"`
	RetainedDiskMB  int64 `json:"retained_disk_mb"`

	ActiveContainers int `json:"active_containers"` // instances that are allocated
}

// Stats is one moment of the pool, whatever the number of leases.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	total, used := p.cfg.Total, p.books.used
	return Stats{
		TotalCPUCores:     sku.Cores(total.MilliCPU),
		AllocatedCPUCores: sku.Cores(used.MilliCPU),
		AvailableCPUCores: sku.Cores(max(total.MilliCPU-used.MilliCPU, 0)),
		TotalMemoryMB:     total.MemoryMB,
		AllocatedMemoryMB: used.MemoryMB,
		AvailableMemoryMB: max(total.MemoryMB-used.MemoryMB, 0),
		TotalDiskMB:       total.DiskMB,
		AllocatedDiskMB:   used.DiskMB,
		AvailableDiskMB:   max(total.DiskMB-used.DiskMB, 0),
		RetainedDiskMB:    p.books.kept,
		ActiveContainers:  p.books.count,
	}
}

// Load is the part of it by which leases are spread over backends.
func (s Stats) Load() *backend.LoadStats {
	return &backend.LoadStats{TotalCPUCores: s.TotalCPUCores, AllocatedCPUCores: s.AllocatedCPUCores, ActiveContainers: s.ActiveContainers}
}
