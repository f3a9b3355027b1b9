package backend

// LoadStats is how much of a backend's capacity is allocated. Leases are spread by
// CPU, which is what runs out first.
type LoadStats struct {
	TotalCPUCores     float64 `json:"total_cpu_cores"`
	AllocatedCPUCores float64 `json:"allocated_cpu_cores"`
	ActiveContainers  int     `json:"active_containers"`
}

// CPUAllocatedRatio is the share of the CPU that is allocated. It is not ok for a
// nil snapshot and for one without a capacity.
func (s *LoadStats) CPUAllocatedRatio() (ratio float64, ok bool) {
	if s == nil || !(s.TotalCPUCores > 0) {
		return 0, false
	}
	return s.AllocatedCPUCores / s.TotalCPUCores, true
}
