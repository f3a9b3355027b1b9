package docker

import "time"

// Stats is one sample of what a container uses.
type Stats struct {
	At time.Time // when the engine took it
	// CPUNanos is the CPU time used since the container started.
	CPUNanos uint64
	// CPUPercent is the use of CPU over the second before At; 100 is one core
	// in full. 0 when the container is too young for two samples.
	CPUPercent float64
	// MemoryBytes is the memory in use without the page cache that the kernel
	// can take back at once. MemoryLimitBytes is the host's memory when there
	// is no limit.
	MemoryBytes, MemoryLimitBytes uint64
	// RxBytes and TxBytes were received and sent over all networks since the
	// container started; 0 on the host's network.
	RxBytes, TxBytes uint64
	Pids             uint64 // processes and threads
}
