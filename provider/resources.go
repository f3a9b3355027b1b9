package provider

// ResourceSpec is the size of one container and, on the main service, how many
// groups there are.
//
// In a ServiceSpec zero is no limit, and one replica. In Scale zero is unchanged.
// In a deploy a zero Replicas is unchanged, and a zero elsewhere is no limit.
type ResourceSpec struct {
	// CPUMillis is in thousandths of a CPU.
	CPUMillis int `json:"cpu_millis"`

	// MemoryMB is in units of 1024*1024 bytes. It bounds memory and swap
	// together.
	MemoryMB int `json:"memory_mb"`

	// DiskMB bounds what the container writes outside its volumes, in units of
	// 1024*1024 bytes.
	DiskMB int `json:"disk_mb,omitempty"`

	Replicas int `json:"replicas"`

	// GPU is a number, or a device class of the orchestrator.
	GPU string `json:"gpu,omitempty"`
}

// IsZero reports whether nothing is asked for.
func (r ResourceSpec) IsZero() bool { return r == ResourceSpec{} }

// ResourceUsage is what an instance uses. It is summed over its containers; with
// CPUPercent 100 is one CPU.
type ResourceUsage struct {
	CPUPercent float64 `json:"cpu_percent"`

	// MemoryUsedMB leaves out what the kernel would give back at once (page
	// cache). The unit is 1024*1024 bytes.
	MemoryUsedMB  int `json:"memory_used_mb"`
	MemoryLimitMB int `json:"memory_limit_mb"`
	DiskUsedMB    int `json:"disk_used_mb,omitempty"`

	// NetworkInMB and NetworkOutMB count since the containers started, in units
	// of 1024*1024 bytes.
	NetworkInMB  float64 `json:"network_in_mb"`
	NetworkOutMB float64 `json:"network_out_mb"`
}
