package backend

import (
	"context"
	"time"
)

// healthTimeout bounds a look at the health of all backends together.
const healthTimeout = 3 * time.Second

// BackendHealth is how one backend is.
type BackendHealth struct {
	Name    string `json:"name"`
	Healthy bool   `json:"healthy"`
	Error   string `json:"error,omitempty"` // why it is not
}

// HealthCheck asks every backend for its health at once, for at most three
// seconds in all. The answers are in the order of the entries, and the flag is
// true when everybody is healthy. One that gives no answer, or panics, is not.
func (r *Router) HealthCheck(ctx context.Context) ([]BackendHealth, bool) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	answers := askAll(ctx, r.all, func(ctx context.Context, b Backend) (struct{}, error) { return struct{}{}, b.Health(ctx) })

	healths, all := make([]BackendHealth, len(r.all)), true
	for i, b := range r.all {
		h := BackendHealth{Name: b.name, Healthy: answers[i].err == nil}
		if !h.Healthy {
			h.Error, all = answers[i].err.Error(), false
		}
		r.recordHealth(h)
		healths[i] = h
	}
	return healths, all
}

func (r *Router) recordHealth(h BackendHealth) {
	if r.healthy == nil {
		return
	}
	value := 0.0
	if h.Healthy {
		value = 1
	}
	r.healthy.WithLabelValues(h.Name).Set(value)
}
