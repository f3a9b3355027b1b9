package records

import (
	"sync"

	"github.com/berth-cloud/berth/provider"
)

// cache holds documents as this process last read or wrote them.
type cache[T any] struct {
	mu   sync.Mutex
	held map[string]*cached[T]
}

type cached[T any] struct {
	value   *T
	raw     []byte
	version provider.Version
}

func (c *cache[T]) get(key string) *cached[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[key]
}

func (c *cache[T]) put(key string, v *cached[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = map[string]*cached[T]{}
	}
	c.held[key] = v
}

func (c *cache[T]) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, key)
}
