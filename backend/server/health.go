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

// Noter is a backend that has more to say beside its health, as of now: what it waits for,
// or a promise that it does not keep. The words are for everybody who can reach the port.
type Noter interface {
	Notes() []string
}

// notes are those of the configuration and those of now.
func (s *server) notes() []string {
	out := slices.Clone(s.cfg.Notes)
	if n, can := s.backend.(Noter); can {
		out = append(out, n.Notes()...)
	}
	return out
}

// unhealthy is the body of a health that is not good.
type unhealthy struct {
	backend.ErrorResponse
	Notes []string `json:"notes,omitempty"`
}

// draining is said beside a backend's health and stats.
const draining = "no new lease is taken: the backend is being drained"

func (s *server) drains() bool {
	d, can := s.backend.(Drainer)
	return can && d.Draining()
}

// health is open to all, so that its words are the same for every fault, but for notes.
func (s *server) health(r *http.Request) (answer, error) {
	err := s.backend.Health(r.Context())
	if r.Context().Err() == nil || err == nil { // else it says something of the caller alone
		s.said(r.Context(), err)
	}
	if err != nil {
		return answer{http.StatusServiceUnavailable, unhealthy{backend.ErrorResponse{Error: "the backend cannot do its work"}, s.notes()}}, nil
	}
	out := status{Status: "healthy", Notes: s.notes()}
	if s.drains() {
		out.Draining, out.Notes = true, append(out.Notes, draining)
	}
	return ok(out), nil
}

// said logs what is wrong when it begins or becomes another, and when it is over: health is
// asked for all the time.
func (s *server) said(ctx context.Context, err error) {
	now := ""
	if err != nil {
		now = err.Error()
	}
	before := s.sick.Swap(&now)
	switch {
	case err != nil && (before == nil || *before != now):
		s.cfg.Logger.WarnContext(ctx, "the backend is not healthy", "error", err)
	case err == nil && before != nil && *before != "":
		s.cfg.Logger.InfoContext(ctx, "the backend is healthy again")
	}
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
