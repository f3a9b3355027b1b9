package dockerprovider

import (
	"context"
	"sync"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/provider"
)

const mib = 1 << 20

// Resources implements provider.Provider. What does not run uses nothing. The
// limit is the sum of the containers' limits, and the machine's memory where one
// has none.
func (d *Driver) Resources(ctx context.Context, workload id.ID) (*provider.ResourceUsage, error) {
	in, err := d.inside(ctx, workload)
	if err != nil {
		return nil, err
	}
	info, err := d.rt.Info(ctx)
	if err != nil {
		return nil, failed("ask the engine for its size", err)
	}
	var mu sync.Mutex
	var sum docker.Stats
	err = together(len(in.containers), func(i int) error {
		c := &in.containers[i]
		if !c.Running() {
			return nil
		}
		s, err := d.rt.Stats(ctx, c.ID)
		if docker.IsNotRunning(err) || docker.IsNotFound(err) {
			return nil // it has ended meanwhile
		}
		mu.Lock()
		defer mu.Unlock()
		sum.CPUPercent += s.CPUPercent
		sum.MemoryBytes += s.MemoryBytes
		sum.MemoryLimitBytes += s.MemoryLimitBytes
		sum.RxBytes += s.RxBytes
		sum.TxBytes += s.TxBytes
		return err
	})
	if err != nil {
		return nil, failed("sample "+workload.String(), err)
	}
	if machine := uint64(max(info.MemoryBytes, 0)); machine > 0 {
		sum.MemoryLimitBytes = min(sum.MemoryLimitBytes, machine)
	}
	return &provider.ResourceUsage{
		CPUPercent: sum.CPUPercent, MemoryUsedMB: int((sum.MemoryBytes + mib - 1) / mib), MemoryLimitMB: int(sum.MemoryLimitBytes / mib),
		NetworkInMB: float64(sum.RxBytes) / mib, NetworkOutMB: float64(sum.TxBytes) / mib,
	}, nil
}
