package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

// maxStats bounds the one answer that holds a sample; cores and disks make it long.
const maxStats = 4 << 20

// Stats implements docker.Runtime. The engine takes the two readings.
func (c *Client) Stats(ctx context.Context, name string) (docker.Stats, error) {
	what := "sample container " + name
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return docker.Stats{}, c.fail(what, err)
	}
	res, err := c.cli.ContainerStats(ctx, name, client.ContainerStatsOptions{IncludePreviousSample: true})
	if err != nil {
		return docker.Stats{}, c.fail(what, err)
	}
	defer res.Body.Close()
	var sample container.StatsResponse
	err = json.NewDecoder(io.LimitReader(res.Body, maxStats)).Decode(&sample)
	switch {
	case errors.Is(err, io.EOF) && ctx.Err() == nil, err == nil && sample.Read.IsZero():
		// What does not run gives an empty sample, what ends meanwhile none.
		return docker.Stats{}, &failure{what: what, sentinel: docker.ErrNotRunning, cause: errors.New("the engine has no sample of it")}
	case err != nil:
		return docker.Stats{}, c.fail(what, err)
	}
	return sampled(&sample), nil
}

func sampled(s *container.StatsResponse) docker.Stats {
	out := docker.Stats{
		At:          s.Read.UTC(),
		CPUNanos:    s.CPUStats.CPUUsage.TotalUsage,
		CPUPercent:  cpuPercent(s),
		MemoryBytes: usedMemory(&s.MemoryStats), MemoryLimitBytes: s.MemoryStats.Limit,
		Pids: s.PidsStats.Current,
	}
	for _, n := range s.Networks {
		out.RxBytes += n.RxBytes
		out.TxBytes += n.TxBytes
	}
	return out
}

// cpuPercent sets the CPU time of the interval against its length.
func cpuPercent(s *container.StatsResponse) float64 {
	before, now := s.PreCPUStats.CPUUsage.TotalUsage, s.CPUStats.CPUUsage.TotalUsage
	interval := s.Read.Sub(s.PreRead)
	if s.PreRead.Year() <= 1 || interval <= 0 || now < before {
		return 0
	}
	return float64(now-before) / float64(interval) * 100
}

// usedMemory leaves out the page cache that the kernel takes back first. The
// counter's name tells the version of the control groups: the first also has
// one of the second's name, without the groups below.
func usedMemory(m *container.MemoryStats) uint64 {
	for _, name := range []string{"total_inactive_file", "inactive_file"} {
		if cache, ok := m.Stats[name]; ok {
			if cache < m.Usage {
				return m.Usage - cache
			}
			return m.Usage
		}
	}
	return m.Usage
}
