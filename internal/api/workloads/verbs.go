package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/dispatch"
	"github.com/berth-cloud/berth/provider/rollout"
)

// cleanTimeout bounds what is put right after a request has failed.
const cleanTimeout = 10 * time.Second

// target finds who takes the verbs for a workload, and the context for calls to it.
func (s *Service) target(ctx context.Context, r row) (context.Context, dispatch.Target, provider.Provider, error) {
	ctx, p, err := s.cfg.Registry.Acquire(ctx, r.Provider)
	if err != nil {
		return ctx, nil, nil, err
	}
	t, err := dispatch.To(p, provider.SourceServices)
	return ctx, t, p, err
}

// Scale changes the size of the main service; what is zero stays.
func (s *Service) Scale(ctx context.Context, name string, size provider.ResourceSpec) (wire.WorkloadAccepted, error) {
	return s.verb(ctx, name, "scale", func(ctx context.Context, r row) error {
		have, err := s.history(ctx, r)
		if err != nil {
			return err
		}
		if err := s.rollouts.Scale(ctx, r.ID, size); err != nil {
			return err
		}
		_, err = s.edit(ctx, r, func(r *row) { r.Scaled, r.ScaledAt = over(r.scaled(have.last), size), s.now() })
		return err
	})
}

// Start starts a stopped workload.
func (s *Service) Start(ctx context.Context, name string) (wire.WorkloadAccepted, error) {
	return s.life(ctx, name, "start", dispatch.Target.Start)
}

// Stop ends the containers of a workload and keeps its data.
func (s *Service) Stop(ctx context.Context, name string) (wire.WorkloadAccepted, error) {
	return s.verb(ctx, name, "stop", func(ctx context.Context, r row) error {
		have, err := s.history(ctx, r)
		if err != nil {
			return err
		}
		if have.open != nil { // it would wait for containers that may not run
			return &rollout.BusyError{Workload: r.ID, Rollout: have.open.ID}
		}
		return s.stop(ctx, r)
	})
}

func (s *Service) stop(ctx context.Context, r row) error {
	ctx, t, _, err := s.target(ctx, r)
	if err != nil {
		return err
	}
	if err := t.Stop(ctx, r.ID); err != nil {
		return fmt.Errorf("stop workload %s: %w", r.Name, err)
	}
	return nil
}

// Restart replaces or restarts the containers of a workload.
func (s *Service) Restart(ctx context.Context, name string) (wire.WorkloadAccepted, error) {
	return s.life(ctx, name, "restart", dispatch.Target.Restart)
}

// life is a verb that the provider takes by itself.
func (s *Service) life(ctx context.Context, name, verb string, do func(dispatch.Target, context.Context, id.ID) error) (wire.WorkloadAccepted, error) {
	return s.verb(ctx, name, verb, func(ctx context.Context, r row) error {
		ctx, t, _, err := s.target(ctx, r)
		if err != nil {
			return err
		}
		if err := do(t, ctx, r.ID); err != nil {
			return fmt.Errorf("%s workload %s: %w", verb, r.Name, err)
		}
		return nil
	})
}

func (s *Service) verb(ctx context.Context, name, verb string, do func(ctx context.Context, r row) error) (wire.WorkloadAccepted, error) {
	r, err := s.row(ctx, name)
	if err != nil {
		return wire.WorkloadAccepted{}, err
	}
	if r.Removing {
		return wire.WorkloadAccepted{}, s.said(ctx, r, removing(r))
	}
	done, err := s.ask(ctx, r, verb, func(ctx context.Context) error { return do(ctx, r) })
	return wire.WorkloadAccepted{Name: r.Name, ID: r.ID.String(), Verb: verb, Done: done}, s.said(ctx, r, err)
}

// Delete marks a workload as one that is to go. The engine removes it, and its
// row once nothing of it is left; until then the name is taken.
func (s *Service) Delete(ctx context.Context, name string) (wire.WorkloadAccepted, error) {
	r, err := s.row(ctx, name)
	if err != nil {
		return wire.WorkloadAccepted{}, err
	}
	if !r.Removing {
		if r, err = s.edit(ctx, r, func(r *row) { r.Removing = true }); err != nil {
			return wire.WorkloadAccepted{}, err
		}
	}
	s.wake(r)
	return wire.WorkloadAccepted{Name: r.Name, ID: r.ID.String(), Verb: "delete"}, nil
}

// Cancel says that the open rollout of a workload is not wanted any more.
func (s *Service) Cancel(ctx context.Context, name string) (wire.WorkloadRollout, error) {
	r, have, err := s.changeable(ctx, name)
	if err != nil {
		return wire.WorkloadRollout{}, err
	}
	if have.open == nil {
		return wire.WorkloadRollout{}, s.said(ctx, r, fmt.Errorf("%w: no rollout of workload %s is under way", provider.ErrConflict, r.Name))
	}
	ro, err := s.rollouts.Cancel(ctx, r.ID, have.open.ID)
	if err != nil {
		return wire.WorkloadRollout{}, s.said(ctx, r, err)
	}
	s.wake(r)
	return *s.wireRollout(ctx, r, ro, have.base), nil
}

// Releases lists the releases of a workload, newest first, from a cursor on.
func (s *Service) Releases(ctx context.Context, name, cursor string, limit int) (wire.WorkloadReleaseList, error) {
	out := wire.WorkloadReleaseList{Releases: []wire.WorkloadRelease{}}
	r, err := s.row(ctx, name)
	if err != nil {
		return out, err
	}
	list, next, err := s.rollouts.Releases(ctx, r.ID, rollout.Page{Cursor: cursor, Limit: limit})
	if errors.Is(err, provider.ErrNotFound) {
		return out, nil // it was named and not yet provisioned
	}
	if err != nil {
		return out, err
	}
	current, err := s.rollouts.Current(ctx, r.ID)
	if err != nil && !errors.Is(err, provider.ErrNotFound) {
		return out, err
	}
	for i := range list {
		out.Releases = append(out.Releases, wireRelease(&list[i], current))
	}
	out.Next = next
	return out, nil
}

// Rollouts lists the rollouts of a workload, newest first, from a cursor on.
func (s *Service) Rollouts(ctx context.Context, name, cursor string, limit int) (wire.WorkloadRolloutList, error) {
	out := wire.WorkloadRolloutList{Rollouts: []wire.WorkloadRollout{}}
	r, err := s.row(ctx, name)
	if err != nil {
		return out, err
	}
	list, next, err := s.rollouts.Rollouts(ctx, r.ID, rollout.Page{Cursor: cursor, Limit: limit})
	if errors.Is(err, provider.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	releases, err := s.allReleases(ctx, r)
	if err != nil {
		return out, err
	}
	for i := range list {
		var base *rollout.Release
		for j := range releases {
			if releases[j].ID == list[i].Base {
				base = &releases[j]
			}
		}
		out.Rollouts = append(out.Rollouts, *s.wireRollout(ctx, r, &list[i], base))
	}
	out.Next = next
	return out, nil
}
