package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

const (
	// succeedsWithin bounds one change, kills and all.
	succeedsWithin = 90 * time.Second
	tryAgain       = 50 * time.Millisecond
)

// persist repeats a call while the control plane is away.
func persist[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	for {
		out, err := call(ctx)
		if err == nil || !away(err) || !pause(ctx, tryAgain) {
			return out, err
		}
	}
}

// away: nobody answered, or the one who did was killed while it answered.
func away(err error) bool {
	return errors.Is(err, client.ErrUnreachable) || client.IsProblem(err, wire.ProblemBusy)
}

// request asks for a change and returns the number of its attempt.
func (s *stand) request(ctx context.Context, c change) (int64, error) {
	call := func(ctx context.Context) (wire.ChangeResult, error) {
		return s.client.Apply(ctx, wire.ApplyRequest{Source: s.appFile(c.to), Filename: "app.yaml"})
	}
	if c.kind == kindRollback {
		before, err := s.status(ctx)
		if err != nil {
			return 0, err
		}
		// By its id: if an answer is lost and the request made again, "previous"
		// would mean another one.
		release := before.Active.Previous
		call = func(ctx context.Context) (wire.ChangeResult, error) {
			return s.client.Rollback(ctx, s.app, wire.RollbackRequest{Service: service, Release: release})
		}
	}
	result, err := persist(ctx, call)
	switch {
	case err != nil:
		return 0, err
	case result.Attempt != nil:
		return result.Attempt.ID, nil
	}
	// Nothing was left to change: an earlier try came through, and its answer
	// was lost.
	now, err := s.status(ctx)
	return now.AttemptID, err
}

// status is the service's.
func (s *stand) status(ctx context.Context) (wire.ServiceStatus, error) {
	app, err := persist(ctx, func(ctx context.Context) (wire.AppStatus, error) { return s.client.App(ctx, s.app) })
	if err != nil {
		return wire.ServiceStatus{}, err
	}
	if len(app.Services) != 1 || app.Services[0].Active == nil {
		return wire.ServiceStatus{}, fmt.Errorf("app %s has %d services, and none that serves is among them", s.app, len(app.Services))
	}
	return app.Services[0], nil
}

// follow strikes the moments of an attempt's trace until it has succeeded.
func (s *stand) follow(ctx context.Context, id int64, c *clock) error {
	moments := map[string]moment{"probe": atProbe, "cutover": atCutover, "drain": atDrain}
	last := int64(0)
	final, err := persist(ctx, func(ctx context.Context) (wire.Attempt, error) {
		return s.client.FollowAttempt(ctx, id, last, client.Follower{Trace: func(e wire.TraceEvent) {
			last = e.ID
			if m, ok := moments[e.Phase]; ok {
				c.strike(m)
			}
		}})
	})
	if err != nil {
		return fmt.Errorf("attempt %d: %w", id, err)
	}
	if final.State != wire.AttemptSucceeded {
		why := ""
		for _, svc := range final.Services {
			why += fmt.Sprintf("; %s %s: %s: %s", svc.Service, svc.State, svc.Reason, svc.Message)
		}
		return fmt.Errorf("attempt %d ended as %s%s", id, final.State, why)
	}
	return nil
}
