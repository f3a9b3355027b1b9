package api

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
)

// watchEvery is how often a stream looks at a workload whose rollout does not
// move: its provider does not say what happens in between.
const watchEvery = time.Second

type workloadLogsInput struct {
	Name    string    `path:"name" maxLength:"128" doc:"Name of the workload."`
	Service string    `query:"service" maxLength:"128" doc:"Without it, the main service."`
	Replica int       `query:"replica" default:"-1" minimum:"-1" maximum:"10000" doc:"Index of a replica; -1: all of them."`
	Since   time.Time `query:"since" doc:"Leave out older lines."`
	Tail    int       `query:"tail" minimum:"0" maximum:"10000" doc:"Only the last lines of all replicas together; 0: all."`
	Follow  bool      `query:"follow" doc:"Go on with new lines."`
	Last    time.Time `header:"Last-Event-ID" timeFormat:"2006-01-02T15:04:05.999999999Z07:00" doc:"Go on after the line of this time."`
}

func (s *Server) registerWorkloadStreams(r *registrar) {
	events := op(http.MethodGet, "/v1/workloads/{name}/events", "follow-workload", "What happens to a workload, until its rollout has ended")
	events.Responses = eventsResponse("Server-sent events: `workload` with the WorkloadStatus whenever it changed, and last `done` with that in which no rollout is under way.")
	register(r, RuleAdmin, events, s.followWorkload)
	logs := op(http.MethodGet, "/v1/workloads/{name}/logs", "get-workload-logs", "Log lines of a service of a workload")
	logs.Responses = eventsResponse("Server-sent events: `log` with a LogEntry and its time as the id; last `end`, or `error` with a Problem.")
	register(r, RuleAdmin, logs, s.followWorkloadLogs)
}

// findWorkload refuses a stream of what does not exist.
func (s *Server) findWorkload(ctx context.Context, name, service string) error {
	_, err := askWorkloads(ctx, s, func(w Workloads) (struct{}, error) { return struct{}{}, w.Find(ctx, name, service) })
	return err
}

func (s *Server) followWorkload(ctx context.Context, in *workloadInput) (*huma.StreamResponse, error) {
	if err := s.findWorkload(ctx, in.Name, ""); err != nil {
		return nil, err
	}
	resp, err := s.stream(func(hctx huma.Context, out *eventStream) error {
		return s.pumpWorkload(hctx.Context(), in.Name, out)
	})
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return resp, nil
}

// pumpWorkload writes the status whenever it changed, until no rollout is open.
func (s *Server) pumpWorkload(ctx context.Context, name string, out *eventStream) error {
	wake, stop := s.deps.Workloads.Moved(ctx, name)
	defer stop()
	heartbeat := time.NewTicker(s.deps.Heartbeat)
	defer heartbeat.Stop()
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	var told wire.WorkloadStatus
	for {
		now, err := s.deps.Workloads.Status(ctx, name)
		if err != nil {
			return out.send(wire.EventError, "", s.asProblem(ctx, err))
		}
		if now.Rollout == nil || now.Rollout.Ended() {
			return out.send(wire.EventDone, "", now)
		}
		if !reflect.DeepEqual(now, told) {
			if err := out.send(wire.EventWorkload, "", now); err != nil {
				return err
			}
			told = now
		}
		select {
		case <-wake:
		case <-look.C:
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

func (s *Server) followWorkloadLogs(ctx context.Context, in *workloadLogsInput) (*huma.StreamResponse, error) {
	if err := s.findWorkload(ctx, in.Name, in.Service); err != nil {
		return nil, err
	}
	opts := provider.LogOptions{ServiceName: in.Service, Follow: in.Follow, Since: in.Since, Tail: in.Tail}
	if in.Replica >= 0 {
		opts.Replica = &in.Replica
	}
	if !in.Last.IsZero() {
		opts.Since, opts.Tail = in.Last.Add(1), 0
	}
	resp, err := s.stream(func(hctx huma.Context, out *eventStream) error {
		return s.pumpLogs(hctx.Context(), func(ctx context.Context, fn func(wire.LogEntry) error) error {
			return s.deps.Workloads.Logs(ctx, in.Name, opts, func(l provider.LogLine) error {
				return fn(wire.LogEntry{Time: l.Time, Service: l.Service, Replica: l.Replica, Stream: l.Stream, Text: l.Line, Partial: l.Partial})
			})
		}, out)
	})
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return resp, nil
}
