package applogs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

// Runtime is the part of docker.Runtime that logs need.
type Runtime interface {
	List(ctx context.Context, labels map[string]string) ([]docker.ContainerState, error)
	Logs(ctx context.Context, container string, opts docker.LogOptions, fn func(docker.LogLine) error) error
	Events(ctx context.Context, labels map[string]string, ready func(), fn func(docker.Event)) error
}

// Store is the part of store.Store that logs need.
type Store interface {
	ListDesiredServices(ctx context.Context, app string) ([]store.DesiredService, error)
	ListKeptLogs(ctx context.Context, service string, limit int) ([]store.KeptLog, error)
}

// maxContainers bounds how many containers one query reads at once.
const maxContainers = 512

// ErrTooMany: the query covers more containers than can be read at once.
var ErrTooMany = errors.New("too many containers")

// Source reads logs of one Berth's containers. It is safe for concurrent use.
type Source struct {
	runtime  Runtime
	store    Store
	instance string
	log      *slog.Logger
}

// New makes a source for the containers that carry the instance's label.
func New(runtime Runtime, st Store, instance string, log *slog.Logger) *Source {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Source{runtime: runtime, store: st, instance: instance, log: log}
}

// Logs calls fn, from one goroutine, for each line that q selects: the backlog
// in the order of time, then new lines as they come while q follows, also of
// containers that did not exist before. It returns nil at the end of the
// backlog, fn's error, the context's, or the engine's.
func (s *Source) Logs(ctx context.Context, q wire.LogQuery, fn func(wire.LogEntry) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &reading{source: s, q: q, seen: newSeen()}
	if !q.Follow {
		_, err := r.backlog(ctx, fn)
		return err
	}
	return r.follow(ctx, fn)
}

// reading is one query under way.
type reading struct {
	source *Source
	q      wire.LogQuery
	seen   *seen
}

// labels select the containers of the query.
func (r *reading) labels() map[string]string {
	labels := map[string]string{docker.LabelInstance: r.source.instance, docker.LabelApp: r.q.App}
	if r.q.Service != "" {
		labels[docker.LabelService] = spec.FullName(r.q.App, r.q.Service)
	}
	return labels
}

// list is the containers of the query that exist now.
func (r *reading) list(ctx context.Context) ([]docker.ContainerState, error) {
	found, err := r.source.runtime.List(ctx, r.labels())
	if err != nil {
		return nil, fmt.Errorf("list the containers of app %s: %w", r.q.App, err)
	}
	if len(found) > maxContainers {
		return nil, fmt.Errorf("%w: app %s has %d; name one service", ErrTooMany, r.q.App, len(found))
	}
	return found, nil
}

// services are the full names of the services whose kept logs belong to the
// query: those desired and those that still have containers.
func (r *reading) services(ctx context.Context, containers []docker.ContainerState) ([]string, error) {
	if r.q.Service != "" {
		return []string{spec.FullName(r.q.App, r.q.Service)}, nil
	}
	desired, err := r.source.store.ListDesiredServices(ctx, r.q.App)
	if err != nil {
		return nil, fmt.Errorf("list the services of app %s: %w", r.q.App, err)
	}
	var all []string
	for _, d := range desired {
		all = append(all, d.Name)
	}
	for _, c := range containers {
		all = append(all, c.Labels[docker.LabelService])
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
