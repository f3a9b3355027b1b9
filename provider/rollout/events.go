package rollout

import (
	"context"
	"log/slog"
	"time"

	"github.com/berth-cloud/berth/id"
)

// Event is one transition of a rollout, recorded before it is told.
type Event struct {
	At             time.Time
	Workload       id.ID
	Rollout        id.ID
	Release        id.ID
	ReleaseVersion int64
	Kind           Kind
	State          State
	Phase          Phase

	// Err is why a rollout ended otherwise than well.
	Err error
}

// mark tells one state of a rollout's record from the next.
type mark struct {
	moves int64
	state State
}

func (r *record) marks() map[id.ID]mark {
	if r == nil {
		return nil
	}
	out := make(map[id.ID]mark, len(r.Rollouts))
	for i := range r.Rollouts {
		out[r.Rollouts[i].ID] = mark{r.Rollouts[i].Moves, r.Rollouts[i].State}
	}
	return out
}

// tellSince reports every rollout that a write began or moved.
func (m *Manager) tellSince(ctx context.Context, before map[id.ID]mark, rec *record) {
	for i := range rec.Rollouts {
		r := &rec.Rollouts[i]
		if was, known := before[r.ID]; !known || was != (mark{r.Moves, r.State}) {
			m.tell(ctx, r)
		}
	}
}

// tell reports where r is now.
func (m *Manager) tell(ctx context.Context, r *Rollout) {
	err := r.Err()
	attrs := []slog.Attr{
		slog.String("workload", r.Workload.String()), slog.String("rollout", r.ID.String()),
		slog.String("kind", string(r.Kind)), slog.Int64("release_version", r.ReleaseVersion),
		slog.String("state", string(r.State)), slog.String("phase", string(r.Phase)),
	}
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	m.opts.Logger.LogAttrs(ctx, level, "rollout moved", attrs...)
	m.opts.Events(Event{
		At: m.now(), Workload: r.Workload, Rollout: r.ID, Release: r.Release, ReleaseVersion: r.ReleaseVersion,
		Kind: r.Kind, State: r.State, Phase: r.Phase, Err: err,
	})
}
