package dockerprovider

import (
	"context"
	"sync"

	"github.com/berth-cloud/berth/internal/docker"
)

// counting is an engine that counts how often its caller started each container:
// an engine counts only the restarts that it made itself, since the last start.
type counting struct {
	docker.Runtime

	mu     sync.Mutex
	starts map[string]int // by name
}

func newCounting(rt docker.Runtime) *counting {
	return &counting{Runtime: rt, starts: map[string]int{}}
}

// Start implements docker.Runtime.
func (c *counting) Start(ctx context.Context, container string) error {
	err := c.Runtime.Start(ctx, container)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.starts[container]++
	}
	return err
}

// Remove implements docker.Runtime.
func (c *counting) Remove(ctx context.Context, container string) error {
	err := c.Runtime.Remove(ctx, container)
	if err == nil {
		c.forget(container)
	}
	return err
}

// restarts is how often the container was started again.
func (c *counting) restarts(container string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, c.starts[container]-1)
}

// forget makes the next start the first one.
func (c *counting) forget(container string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.starts, container)
}
