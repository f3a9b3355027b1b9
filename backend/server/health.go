package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/berth-cloud/berth/backend"
)

// Stats is all that GET /stats tells. Routing needs the CPU only; the rest is for
// whoever watches a backend. Memory and disk are in units of 1<<20 bytes; of each the
// total is what is allocated and what is available, unless more is allocated than
// there is.
type Stats struct {
	backend.LoadStats
	AvailableCPUCores float64 `json:"available_cpu_cores"`
	TotalMemoryMB     int64   `json:"total_memory_mb"`
	AllocatedMemoryMB int64   `json:"allocated_memory_mb"`
	AvailableMemoryMB int64   `json:"available_memory_mb"`
	TotalDiskMB       int64   `json:"total_disk_mb"`
	AllocatedDiskMB   int64   `json:"allocated_disk_mb"`
	AvailableDiskMB   int64   `json:"available_disk_mb"`
}

// StatsSource is a backend that counts more than LoadStats has.
type StatsSource interface {
	// GetStats is never nil without an error.
	GetStats(ctx context.Context) (*Stats, error)
}

// Drainer is a backend that may be emptied: it then takes no lease, and says so to
// whoever asks how it is.
type Drainer interface {
	Draining() bool
}

// draining is said beside a backend's health and stats.
const draining = "no new lease is taken: the backend is being drained"

func (s *server) drains() bool {
	d, can := s.backend.(Drainer)
	return can && d.Draining()
}

// health is open to all, so that its words are the same for every fault.
func (s *server) health(r *http.Request) (answer, error) {
	if err := s.backend.Health(r.Context()); err != nil {
		s.cfg.Logger.WarnContext(r.Context(), "the backend is not healthy", "error", err)
		return answer{http.StatusServiceUnavailable, backend.ErrorResponse{Error: "the backend cannot do its work"}}, nil
	}
	out := status{Status: "healthy", Notes: s.cfg.Notes}
	if s.drains() {
		out.Draining, out.Notes = true, append(slices.Clone(out.Notes), draining)
	}
	return ok(out), nil
}

func (s *server) stats(r *http.Request) (answer, error) {
	if source, can := s.backend.(StatsSource); can {
		stats, err := source.GetStats(r.Context())
		if err == nil && stats == nil {
			err = errNoAnswer
		}
		return ok(stats), err
	}
	load, err := s.backend.GetLoadStats(r.Context())
	if load == nil {
		// A backend that does not count: zero has no ratio, and nobody routes by it.
		load = &backend.LoadStats{}
	}
	return ok(load), err
}
