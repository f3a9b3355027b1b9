package dockerprovider

import (
	"sync"

	"github.com/berth-cloud/berth/id"
)

// maxGone bounds how many deprovisioned workloads are remembered.
const maxGone = 4096

// gone remembers what this process deprovisioned, to tell it from what never
// was.
type gone struct {
	mu    sync.Mutex
	known map[id.ID]bool
	order []id.ID
}

func (g *gone) add(workload id.ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known[workload] {
		return
	}
	if g.known == nil {
		g.known = map[id.ID]bool{}
	}
	if len(g.order) == maxGone {
		delete(g.known, g.order[0])
		g.order = g.order[1:]
	}
	g.known[workload] = true
	g.order = append(g.order, workload)
}

func (g *gone) has(workload id.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known[workload]
}
