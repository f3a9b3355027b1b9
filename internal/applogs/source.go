package applogs

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/logread"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

// Store is the part of store.Store that logs need.
type Store interface {
	ListDesiredServices(ctx context.Context, app string) ([]store.DesiredService, error)
	ListKeptLogs(ctx context.Context, service string, limit int) ([]store.KeptLog, error)
}

// Source reads logs of one Berth's containers. It is safe for concurrent use.
type Source struct {
	runtime  logread.Runtime
	store    Store
	instance string
	log      *slog.Logger
}

// New makes a source for the containers that carry the instance's label.
func New(runtime logread.Runtime, st Store, instance string, log *slog.Logger) *Source {
	return &Source{runtime: runtime, store: st, instance: instance, log: log}
}

// Logs calls fn, from one goroutine, for each line that q selects: the backlog
// in the order of time, then new lines as they come while q follows, also of
// containers that did not exist before. It returns nil at the end of the
// backlog, fn's error, the context's, or the engine's.
func (s *Source) Logs(ctx context.Context, q wire.LogQuery, fn func(wire.LogEntry) error) error {
	err := logread.Read(ctx, s.runtime, s.query(q), func(l logread.Line[origin]) error { return fn(entry(l)) })
	if err != nil {
		return fmt.Errorf("logs of app %s: %w", q.App, err)
	}
	return nil
}

func (s *Source) query(q wire.LogQuery) logread.Query[origin] {
	labels := map[string]string{docker.LabelInstance: s.instance, docker.LabelApp: q.App}
	if q.Service != "" {
		labels[docker.LabelService] = spec.FullName(q.App, q.Service)
	}
	return logread.Query[origin]{
		Labels: labels, Since: q.Since, Tail: min(q.Tail, wire.MaxTail), TailOfAll: true, Follow: q.Follow, Logger: s.log,
		Origin: func(container string, labels map[string]string) (origin, bool) {
			o := originOf(q.App, container, labels)
			return o, q.Wants(o.service, o.member)
		},
		KeptOrigin: func(k store.KeptLog) (origin, bool) {
			o := keptOrigin(q.App, k)
			return o, q.Wants(o.service, o.member)
		},
		Kept: func(ctx context.Context, listed []docker.ContainerState) ([]store.KeptLog, error) {
			services, err := s.services(ctx, q, listed)
			if err != nil {
				return nil, err
			}
			return s.kept(ctx, services...)
		},
		KeptOf: func(ctx context.Context, labels map[string]string) ([]store.KeptLog, error) {
			return s.kept(ctx, labels[docker.LabelService])
		},
	}
}

// services are the full names of the services whose kept logs belong to the
// query: those desired and those that still have containers.
func (s *Source) services(ctx context.Context, q wire.LogQuery, listed []docker.ContainerState) ([]string, error) {
	if q.Service != "" {
		return []string{spec.FullName(q.App, q.Service)}, nil
	}
	desired, err := s.store.ListDesiredServices(ctx, q.App)
	if err != nil {
		return nil, fmt.Errorf("list the services: %w", err)
	}
	var all []string
	for _, d := range desired {
		all = append(all, d.Name)
	}
	for _, c := range listed {
		all = append(all, c.Labels[docker.LabelService])
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func (s *Source) kept(ctx context.Context, services ...string) ([]store.KeptLog, error) {
	var all []store.KeptLog
	for _, service := range services {
		kept, err := s.store.ListKeptLogs(ctx, service, store.MaxKeptLogs)
		if err != nil {
			return nil, fmt.Errorf("list the kept logs of %s: %w", service, err)
		}
		all = append(all, kept...)
	}
	return all, nil
}
