package instances

import (
	"sync"
	"time"
)

// misses counts in how many passes one after another something was not as it should
// be. What is fine in one pass begins anew, and so does a new leader.
type misses struct {
	mu   sync.Mutex
	last map[string]miss
}

type miss struct {
	count int
	since time.Time
}

// needed is how often something has to be missed before it counts.
const needed = 2

// passMisses are those of one pass.
type passMisses struct {
	before map[string]miss
	now    map[string]miss
}

func (m *misses) begin() *passMisses {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &passMisses{m.last, map[string]miss{}}
}

func (p *passMisses) add(what string, at time.Time) miss {
	one := p.before[what]
	if one.count == 0 {
		one.since = at
	}
	one.count++
	p.now[what] = one
	return one
}

// end makes a pass count, which one that failed on the way does not.
func (m *misses) end(p *passMisses) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = p.now
}
