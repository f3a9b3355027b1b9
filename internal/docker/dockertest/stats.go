package dockertest

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// statsTime is how far an engine's two readings of a container lie apart.
const statsTime = time.Second

// Stats implements docker.Runtime. It takes as long as the readings do. What
// the container's Behaviour leaves zero is that of a small idle process.
func (e *Engine) Stats(ctx context.Context, ref string) (out docker.Stats, err error) {
	err = e.call(ctx, CallStats, ref, func(*fault) error {
		c, err := e.running(ref)
		if err != nil {
			return err
		}
		number := c.runs
		ended := func() bool { return c.runs != number || !c.active() }
		if err := e.clock.await(ctx, e.now().Add(statsTime), ended); err != nil {
			return err
		}
		if ended() {
			return fmt.Errorf("container %q ended: %w", ref, docker.ErrNotRunning)
		}
		out = e.stats(c)
		return nil
	})
	if err != nil {
		return docker.Stats{}, err
	}
	return out, nil
}

func (e *Engine) stats(c *container) docker.Stats {
	age := e.now().Sub(c.started)
	var s docker.Stats
	if c.process.Stats != nil {
		s = c.process.Stats(age)
	}
	s.At = e.now()
	if s.CPUPercent == 0 && s.CPUNanos == 0 {
		s.CPUPercent = 0.5
	}
	if s.CPUNanos == 0 {
		s.CPUNanos = uint64(float64(age) * s.CPUPercent / 100)
	}
	if s.MemoryBytes == 0 {
		s.MemoryBytes = 8 << 20
	}
	if s.MemoryLimitBytes == 0 {
		s.MemoryLimitBytes = uint64(e.info.MemoryBytes)
		if c.resources.MemoryBytes > 0 {
			s.MemoryLimitBytes = uint64(c.resources.MemoryBytes)
		}
	}
	s.Pids = max(s.Pids, 1)
	return s
}
