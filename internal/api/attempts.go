package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

// traceBatch is how many events are read at once.
const traceBatch = 200

type attemptInput struct {
	ID int64 `path:"id" minimum:"1" doc:"Number of the attempt."`
}

type eventsInput struct {
	ID    int64 `path:"id" minimum:"1" doc:"Number of the attempt."`
	After int64 `header:"Last-Event-ID" minimum:"0" doc:"Go on after the event of this id."`
}

type attemptOutput struct{ Body wire.Attempt }

func (s *Server) registerAttempts(r *registrar) {
	register(r, RuleAdmin, op(http.MethodGet, "/v1/attempts/{id}", "get-attempt", "One attempt as it is now"),
		func(ctx context.Context, in *attemptInput) (*attemptOutput, error) {
			a, err := s.getAttempt(ctx, in.ID)
			if err != nil {
				return nil, s.asProblem(ctx, err)
			}
			return &attemptOutput{wireAttempt(a)}, nil
		})
	events := op(http.MethodGet, "/v1/attempts/{id}/events", "follow-attempt", "What happens to an attempt, until it is final")
	events.Responses = eventsResponse("Server-sent events: `trace` with a TraceEvent and its id, `attempt` with the Attempt whenever it changed, and last `done` with the final Attempt.")
	register(r, RuleAdmin, events, s.followAttempt)
}

func (s *Server) getAttempt(ctx context.Context, id int64) (store.Attempt, error) {
	a, err := s.deps.Store.GetAttempt(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return a, notFound(fmt.Sprintf("there is no attempt %d", id),
			"Old attempts are forgotten; `berth status APP` shows the last one.")
	}
	if err != nil {
		return a, fmt.Errorf("read attempt %d: %w", id, err)
	}
	return a, nil
}

func (s *Server) followAttempt(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	if _, err := s.getAttempt(ctx, in.ID); err != nil {
		return nil, s.asProblem(ctx, err)
	}
	resp, err := s.stream(func(hctx huma.Context, out *eventStream) error {
		return s.pumpAttempt(hctx.Context(), in.ID, in.After, out)
	})
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return resp, nil
}

// pumpAttempt writes events until the attempt is final. It subscribes before
// it reads, so nothing falls between; a heartbeat reads again all the same.
func (s *Server) pumpAttempt(ctx context.Context, id, after int64, out *eventStream) error {
	sub, unsubscribe := s.hub.subscribe(id)
	defer unsubscribe()
	heartbeat := time.NewTicker(s.deps.Heartbeat)
	defer heartbeat.Stop()
	var told wire.Attempt
	for {
		// The attempt before its trace: whatever led to a final state is then
		// among the events that follow.
		a, err := s.getAttempt(ctx, id)
		if err != nil {
			return err
		}
		if after, err = s.sendTrace(ctx, a, after, out); err != nil {
			return err
		}
		now := wireAttempt(a)
		if a.State.Final() {
			return out.send(wire.EventDone, "", now)
		}
		if !reflect.DeepEqual(now, told) {
			if err := out.send(wire.EventAttempt, "", now); err != nil {
				return err
			}
			told = now
		}
		select {
		case <-sub.wake:
		case <-heartbeat.C:
			if err := out.beat(); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing:
			return nil
		}
	}
}

// sendTrace writes the events after the one named and returns the last id.
func (s *Server) sendTrace(ctx context.Context, a store.Attempt, after int64, out *eventStream) (int64, error) {
	for {
		events, err := s.deps.Store.ListTrace(ctx, a.ID, after, traceBatch)
		if err != nil {
			return after, fmt.Errorf("read the trace of attempt %d: %w", a.ID, err)
		}
		for _, e := range events {
			if err := out.send(wire.EventTrace, strconv.FormatInt(e.ID, 10), wireTrace(a.AppID, e)); err != nil {
				return after, err
			}
			after = e.ID
		}
		if len(events) < traceBatch {
			return after, nil
		}
	}
}
