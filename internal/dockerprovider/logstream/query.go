package logstream

import (
	"context"
	"log/slog"
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

// Query selects lines.
type Query struct {
	// Labels are those of the containers to read.
	Labels map[string]string
	// Listed are the containers with these labels, looked for just now; nil looks
	// for them. A query that follows looks in any case, once it is told of those
	// that start.
	Listed []docker.ContainerState
	// Kept are the kept logs of containers that are gone; nil is none.
	Kept func(ctx context.Context) ([]store.KeptLog, error)
	// Origin tells where the lines of a container come from; false leaves the
	// container out.
	Origin func(container string, labels map[string]string) (Origin, bool)
	// KeptOrigin does so for a kept log.
	KeptOrigin func(l store.KeptLog) (Origin, bool)

	Since  time.Time
	Tail   int // of each container; 0 is all
	Follow bool
	Logger *slog.Logger
}

// Origin is where a line comes from.
type Origin struct {
	Service string
	Replica int
}

// maxContainers bounds how many containers one stream reads at once.
const maxContainers = 512

// line is one line with what orders it.
type line struct {
	docker.LogLine
	origin    Origin
	container string
}
