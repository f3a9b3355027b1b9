package main

import (
	"fmt"
	"sync"
)

// result is what came of a run.
type result struct {
	mu                        sync.Mutex
	leases, operations, kills int
	lost, leaked              []string
}

func (r *result) done(operations int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.operations += operations
}

func (r *result) held() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leases++
}

func (r *result) lose(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = append(r.lost, fmt.Sprintf(format, args...))
}

// problems are all that keeps a run from being good.
func (r *result) problems(o options) []string {
	var out []string
	for _, l := range r.lost {
		out = append(out, "lost: "+l)
	}
	for _, l := range r.leaked {
		out = append(out, "leaked: "+l)
	}
	if r.leases < o.leases {
		out = append(out, fmt.Sprintf("%d leases were held to their end, and %d were asked for", r.leases, o.leases))
	}
	if r.kills < o.kills {
		out = append(out, fmt.Sprintf("%d kills were made, and %d were asked for", r.kills, o.kills))
	}
	return out
}

// String is the last line.
func (r *result) String() string {
	return fmt.Sprintf("backend: %d leases, %d operations, %d kills, %d lost, %d leaked", r.leases, r.operations, r.kills, len(r.lost), len(r.leaked))
}
