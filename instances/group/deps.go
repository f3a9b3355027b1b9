package group

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// Machines makes and removes machines; *instances.Manager does.
type Machines interface {
	CreateInstance(ctx context.Context, req instances.CreateInstanceRequest) (*instances.CreateInstanceResponse, error)
	DeleteInstanceFor(ctx context.Context, tenant, instanceID string) error
	GetInstanceStatusFor(ctx context.Context, tenant, instanceID string) (*instances.InstanceStatus, error)
}

// Rows is the cache of records; *localdb.DB is.
type Rows interface {
	Instances(ctx context.Context, q localdb.Query) ([]localdb.Instance, error)
	StartDrain(ctx context.Context, id string, at time.Time) error
}

// Configs says what groups are to be; *config.Loader does.
type Configs interface {
	Current() *config.Config
	Merge(req config.MergeRequest) (*config.MergedConfig, error)
}

// Sign is a sign of life of a machine.
type Sign struct {
	// HeardAt is when its agent was last heard of.
	HeardAt time.Time
	// Noticed: the agent says that the machine is going to be taken away, at the time
	// NoticeAt, zero when nobody said.
	Noticed  bool
	NoticeAt time.Time
}

// Presence tells of machines that are connected; see FromHub.
type Presence interface {
	Sign(instanceID string) (Sign, bool)
}

// Holder knows what would be lost with a machine. An empty reason is nothing; a failure
// counts as something.
type Holder interface {
	Holds(ctx context.Context, instanceID string) (reason string, err error)
}

// Drainer empties machines. Both may be called again and again, by different leaders.
type Drainer interface {
	// Drain begins to move what runs on a machine, to be done by the deadline.
	Drain(ctx context.Context, instanceID string, deadline time.Time) error
	// Drained reports whether nothing is left.
	Drained(ctx context.Context, instanceID string) (bool, error)
}

// Collector is the manager's garbage collection.
type Collector interface {
	Collect(ctx context.Context) (instances.CollectReport, error)
}

var (
	_ Machines  = (*instances.Manager)(nil)
	_ Collector = (*instances.Manager)(nil)
	_ Rows      = (*localdb.DB)(nil)
	_ Configs   = (*config.Loader)(nil)
)

// ErrOptions: what is needed is missing.
var ErrOptions = errors.New("invalid options of the groups")

// Options are what the controllers of a shard's groups work with.
type Options struct {
	Machines Machines // required
	Rows     Rows     // required; filled by the manager's RebuildCache before
	Configs  Configs  // required; refreshed before
	Presence Presence // required

	Holder    Holder    // nil: nothing is held
	Drainer   Drainer   // nil: there is nothing to drain
	Collector Collector // nil: nothing is collected here
	// Since is when this process began to lead; zero is when New was called.
	Since time.Time
	Now   func() time.Time // nil is time.Now
	// Kick wakes a key, as the engine's Kick; nil wakes none.
	Kick func(reconcile.Key)
	// Rand returns a number in [0, 1) for the jitter of retries; nil is a random one.
	Rand   func() float64
	Logger *slog.Logger // nil discards
}

func (o *Options) settle() error {
	if o.Machines == nil || o.Rows == nil || o.Configs == nil || o.Presence == nil {
		return fmt.Errorf("%w: machines, rows, configuration and presence are needed", ErrOptions)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Since.IsZero() {
		o.Since = o.Now()
	}
	if o.Kick == nil {
		o.Kick = func(reconcile.Key) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}
