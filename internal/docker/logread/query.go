package logread

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

// Runtime is the part of docker.Runtime that logs need.
type Runtime interface {
	List(ctx context.Context, labels map[string]string) ([]docker.ContainerState, error)
	Logs(ctx context.Context, container string, opts docker.LogOptions, fn func(docker.LogLine) error) error
	Events(ctx context.Context, labels map[string]string, ready func(), fn func(docker.Event)) error
}

// Query selects lines. O is what the caller knows of where a line comes from.
type Query[O any] struct {
	// Labels are those of the containers to read.
	Labels map[string]string
	// Listed are the containers with these labels, looked for just now; nil looks
	// for them. A query that follows looks in any case, once it is told of those
	// that start.
	Listed []docker.ContainerState
	// Kept are the kept logs of containers that are gone, beside those that were
	// listed. Optional.
	Kept func(ctx context.Context, listed []docker.ContainerState) ([]store.KeptLog, error)
	// KeptOf are those among which is that of one container with these labels.
	// Optional.
	KeptOf func(ctx context.Context, labels map[string]string) ([]store.KeptLog, error)
	// Origin tells where the lines of a container come from; false leaves the
	// container out.
	Origin func(container string, labels map[string]string) (O, bool)
	// KeptOrigin does so for a kept log.
	KeptOrigin func(l store.KeptLog) (O, bool)

	Since time.Time
	// Tail bounds the backlog to the last lines of each container, or with TailOfAll
	// of all of them together; 0 is all lines.
	Tail      int
	TailOfAll bool
	Follow    bool
	Logger    *slog.Logger // nil discards
}

// Line is one line, with where it comes from.
type Line[O any] struct {
	docker.LogLine
	Origin    O
	Container string // its name
}

// maxContainers bounds how many containers one query reads at once.
const maxContainers = 512

// ErrTooMany: the query covers more containers than can be read at once.
var ErrTooMany = errors.New("too many containers to read at once")

// Read calls fn, from one goroutine, for each line that the query selects: the
// backlog in the order of time and then, while it follows, new lines as they come.
// It returns nil at the end of the backlog, fn's error, the context's, or the
// engine's.
func Read[O any](ctx context.Context, rt Runtime, q Query[O], fn func(Line[O]) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if q.Logger == nil {
		q.Logger = slog.New(slog.DiscardHandler)
	}
	r := &reading[O]{rt: rt, q: q, seen: newSeen()}
	if q.Follow {
		return r.follow(ctx, fn)
	}
	_, err := r.backlog(ctx, fn)
	return err
}

// reading is one query under way.
type reading[O any] struct {
	rt   Runtime
	q    Query[O]
	seen *seen
}

// list is the containers that the query is about.
func (r *reading[O]) list(ctx context.Context) ([]docker.ContainerState, error) {
	all := slices.Clone(r.q.Listed)
	if all == nil || r.q.Follow {
		var err error
		if all, err = r.rt.List(ctx, r.q.Labels); err != nil {
			return nil, fmt.Errorf("list containers: %w", err)
		}
	}
	all = slices.DeleteFunc(all, func(c docker.ContainerState) bool {
		_, ok := r.q.Origin(c.Name, c.Labels)
		return !ok
	})
	if len(all) > maxContainers {
		return nil, fmt.Errorf("%w: there are %d; ask for one service or replica", ErrTooMany, len(all))
	}
	return all, nil
}
