package rollout

import (
	"context"
	"errors"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Resumed is a rollout that Resume found open.
type Resumed struct {
	Workload id.ID

	// Rollout is where it is after its first pass. It is zero when the workload
	// was being removed.
	Rollout Rollout

	// RequeueAfter is when it is to be looked at next, zero when it has ended.
	RequeueAfter time.Duration
}

// Resume is for the start of a process: it makes a pass for every workload that
// has an open rollout, or is being removed, and returns them for an engine or Run to
// go on with. A rollout that is not cancelled goes on where its journal says; one that is
// cancelled, or whose time is up and whose release is not ready, turns back. What
// fails for one workload stops no other; the errors are joined.
func (m *Manager) Resume(ctx context.Context) ([]Resumed, error) {
	workloads, err := m.Workloads(ctx)
	bad := []error{err}
	var out []Resumed
	for _, workload := range workloads {
		if ctx.Err() != nil {
			bad = append(bad, ctx.Err())
			break
		}
		seen, err := m.resume(ctx, workload)
		bad = append(bad, err)
		if seen != nil {
			out = append(out, *seen)
		}
	}
	return out, errors.Join(bad...)
}

func (m *Manager) resume(ctx context.Context, workload id.ID) (*Resumed, error) {
	rec, _, err := m.load(ctx, workload)
	if errors.Is(err, provider.ErrNotFound) {
		return nil, nil // it was removed since it was listed
	}
	if err != nil || rec.Open.IsNil() && !rec.Removing {
		return nil, err
	}
	open := rec.Open
	after, err := m.Step(ctx, workload)
	out := &Resumed{Workload: workload, RequeueAfter: after}
	if rec.Removing {
		return out, err
	}
	ro, loadErr := m.Rollout(ctx, workload, open)
	if loadErr == nil {
		out.Rollout = *ro
	} else {
		out.Rollout = *rec.open()
	}
	if err != nil {
		out.RequeueAfter = firstRetry
	}
	return out, errors.Join(err, loadErr)
}
