package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-cloud/berth/internal/wire"
)

type logsInput struct {
	App     string    `path:"app" maxLength:"128"`
	Service string    `query:"service" maxLength:"128" doc:"Short name; without it, all services."`
	Members []string  `query:"member,explode" maxItems:"50" doc:"main, or the name of an init or a sidecar; may be repeated. Without it, all."`
	Since   time.Time `query:"since" doc:"Leave out older lines."`
	Tail    int       `query:"tail" minimum:"0" maximum:"10000" doc:"Only the last lines of what is there; 0: all."`
	Follow  bool      `query:"follow" doc:"Go on with new lines."`
	Last    time.Time `header:"Last-Event-ID" timeFormat:"2006-01-02T15:04:05.999999999Z07:00" doc:"Go on after the line of this time."`
}

func (s *Server) registerLogs(r *registrar) {
	logs := op(http.MethodGet, "/v1/apps/{app}/logs", "get-logs", "Log lines of an app, over releases and replicas")
	logs.Responses = eventsResponse("Server-sent events: `log` with a LogEntry and its time as the id; last `end`, or `error` with a Problem.")
	register(r, RuleAdmin, logs, s.followLogs)
}

func (s *Server) followLogs(ctx context.Context, in *logsInput) (*huma.StreamResponse, error) {
	if s.deps.Logs == nil {
		return nil, busy("this daemon has no source of logs", "Start it with an engine.")
	}
	if err := s.checkLogTarget(ctx, in); err != nil {
		return nil, s.asProblem(ctx, err)
	}
	q := wire.LogQuery{App: in.App, Service: in.Service, Members: in.Members, Since: in.Since, Tail: in.Tail, Follow: in.Follow}
	if !in.Last.IsZero() {
		q.Since, q.Tail = in.Last.Add(1), 0
	}
	resp, err := s.stream(func(hctx huma.Context, out *eventStream) error {
		return s.pumpLogs(hctx.Context(), func(ctx context.Context, fn func(wire.LogEntry) error) error {
			return s.deps.Logs.Logs(ctx, q, fn)
		}, out)
	})
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return resp, nil
}

// logReader calls fn for each line until the end of the logs, fn's error, or the
// context's.
type logReader func(ctx context.Context, fn func(wire.LogEntry) error) error

// pumpLogs writes lines until the source ends. The source calls back from one
// goroutine at a time, but a heartbeat must not wait for it: lines cross over
// a short queue.
func (s *Server) pumpLogs(ctx context.Context, read logReader, out *eventStream) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan wire.LogEntry, 64)
	ended := make(chan error, 1)
	go func() {
		ended <- read(ctx, func(e wire.LogEntry) error {
			select {
			case lines <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		close(lines)
	}()
	err := s.writeLogs(ctx, lines, ended, out)
	cancel()
	for range lines { // until the source has returned
	}
	return err
}

func (s *Server) writeLogs(ctx context.Context, lines <-chan wire.LogEntry, ended <-chan error, out *eventStream) error {
	heartbeat := time.NewTicker(s.deps.Heartbeat)
	defer heartbeat.Stop()
	for {
		select {
		case e, ok := <-lines:
			if !ok {
				if err := <-ended; err != nil {
					if ctx.Err() != nil {
						return err
					}
					return out.send(wire.EventError, "", s.asProblem(ctx, err))
				}
				return out.send(wire.EventEnd, "", struct{}{})
			}
			if err := out.send(wire.EventLog, e.Time.Format(time.RFC3339Nano), e); err != nil {
				return err
			}
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
