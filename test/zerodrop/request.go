package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

const (
	// succeedsWithin bounds one change, kills and all.
	succeedsWithin = 2 * time.Minute
	// longChange is how long a change may take before its steps are told.
	longChange = 45 * time.Second
	// servesWithin bounds how long after its success a change may not show yet.
	servesWithin = 10 * time.Second
	tryAgain     = 50 * time.Millisecond
	// hostNameLength is how much of its id the engine gives a container as host name.
	hostNameLength = 12
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
	call, err := s.call(ctx, c)
	if err != nil {
		return 0, err
	}
	tries := 0
	result, err := persist(ctx, func(ctx context.Context) (wire.ChangeResult, error) {
		tries++
		return call(ctx)
	})
	switch {
	case tries > 1 && client.IsProblem(err, wire.ProblemConflict):
	case err != nil:
		return 0, err
	case result.Attempt != nil:
		return result.Attempt.ID, nil
	}
	// Nothing was left to change, or no more from where it was: an earlier try
	// came through, and its answer was lost.
	now, err := s.status(ctx)
	return now.AttemptID, err
}

// call is the request that makes a change, in a form that can be repeated.
func (s *stand) call(ctx context.Context, c change) (func(context.Context) (wire.ChangeResult, error), error) {
	switch c.verb {
	case doRollback:
		before, err := s.status(ctx)
		if err != nil {
			return nil, err
		}
		// By its id: if an answer is lost and the request made again, "previous"
		// would mean another one.
		release := before.Active.Previous
		return func(ctx context.Context) (wire.ChangeResult, error) {
			return s.client.Rollback(ctx, s.app, wire.RollbackRequest{Service: service, Release: release})
		}, nil
	case doRestart:
		// From this generation on only, or a second try would restart once more.
		plan, err := persist(ctx, func(ctx context.Context) (wire.ChangeResult, error) {
			return s.client.Restart(ctx, s.app, wire.RestartRequest{DryRun: true})
		})
		return func(ctx context.Context) (wire.ChangeResult, error) {
			return s.client.Restart(ctx, s.app, wire.RestartRequest{Base: plan.Plan.Base})
		}, err
	case doScaleUp, doScaleDown:
		return func(ctx context.Context) (wire.ChangeResult, error) {
			return s.client.Scale(ctx, s.app, wire.ScaleRequest{Replicas: map[string]int{service: c.to.replicas}})
		}, nil
	default:
		return func(ctx context.Context) (wire.ChangeResult, error) {
			return s.client.Apply(ctx, wire.ApplyRequest{Source: s.appFile(c.to), Filename: "app.yaml"})
		}, nil
	}
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

// serving are the host names of the replicas that take requests, once there are
// so many and no other.
func (s *stand) serving(ctx context.Context, replicas int) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, servesWithin)
	defer cancel()
	for {
		list, err := persist(ctx, func(ctx context.Context) (wire.ContainerList, error) { return s.client.Containers(ctx, s.app) })
		var hosts []string
		for _, c := range list.Containers {
			if c.Role == "" && c.Traffic {
				hosts = append(hosts, c.ID[:min(len(c.ID), hostNameLength)])
			}
		}
		if err == nil && len(hosts) == replicas {
			return hosts, nil
		}
		if !pause(ctx, tryAgain) {
			return nil, errors.Join(fmt.Errorf("%d replicas shall serve, and %s do", replicas, hosts), err)
		}
	}
}

// follow strikes the moments of an attempt's trace until it has succeeded.
func (s *stand) follow(ctx context.Context, id int64, c *clock) error {
	moments := map[string]moment{"probe": atProbe, "cutover": atCutover, "drain": atDrain}
	last, began := int64(0), time.Now()
	var steps strings.Builder
	defer func() {
		if time.Since(began) > longChange {
			s.o.say("attempt %d took long:\n%s", id, &steps)
		}
	}()
	final, err := persist(ctx, func(ctx context.Context) (wire.Attempt, error) {
		return s.client.FollowAttempt(ctx, id, last, client.Follower{Trace: func(e wire.TraceEvent) {
			last = e.ID
			fmt.Fprintf(&steps, "  %s %s %s: %s\n", e.Time.Local().Format("15:04:05.000"), e.Phase, e.Status, e.Message)
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
