package api

import (
	"context"
	"log/slog"
	"time"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/secrets"
)

// Store is what the API needs of the control plane's memory.
type Store interface {
	ApplyChange(ctx context.Context, c store.Change) (store.Attempt, error)
	GetApp(ctx context.Context, name string) (store.App, error)
	ListApps(ctx context.Context) ([]store.App, error)
	GetDesiredService(ctx context.Context, name string) (*store.DesiredService, error)
	ListDesiredServices(ctx context.Context, app string) ([]store.DesiredService, error)
	GetAttempt(ctx context.Context, id int64) (store.Attempt, error)
	ListAttempts(ctx context.Context, app string, limit int) ([]store.Attempt, error)
	GetRelease(ctx context.Context, id string) (store.Release, error)
	ListReleases(ctx context.Context, service string, limit int) ([]store.Release, error)
	GetActiveRelease(ctx context.Context, service string) (store.ActiveRelease, error)
	Routes(ctx context.Context) (store.RouteState, error)
	ListTrace(ctx context.Context, attempt, after int64, limit int) ([]store.TraceEvent, error)
	ListPendingTeardowns(ctx context.Context) ([]store.PendingTeardown, error)
	ListConditions(ctx context.Context) (map[string][]reconcile.Condition, error)
	GetConditions(ctx context.Context, controllerName string) ([]reconcile.Condition, error)
	Changes(ctx context.Context, fn func(c store.ChangeNote)) error
}

// LogSource reads the logs of services over releases and replicas.
type LogSource interface {
	// Logs calls fn for each line, the backlog in order of time, then new lines
	// as they come when q follows. It returns nil at the end of the backlog,
	// fn's error, or the context's.
	Logs(ctx context.Context, q wire.LogQuery, fn func(wire.LogEntry) error) error
}

// Deps is everything a Server stands on. Store is required; every other field
// has a working default.
type Deps struct {
	Store Store
	// Logs reads logs; nil refuses requests for them.
	Logs LogSource
	// Engine is asked for containers; nil refuses requests that need it.
	Engine Engine
	// Secrets keeps values of the tenant [Tenant]; nil refuses requests for them.
	Secrets secrets.Vault
	// Workloads runs workloads on providers; nil refuses requests for them.
	Workloads Workloads
	// Nodes are the machines that apps run on; nil: this one alone.
	Nodes Nodes
	// Machines looks after machines; nil refuses requests for them.
	Machines Machines
	// Doctor looks at the daemon and the machine, within the context's deadline.
	Doctor func(ctx context.Context) []wire.Check
	// Wake is told the full names of services whose desired state a request
	// changed, after it was written.
	Wake func(services ...string)
	// Listeners are the data plane's addresses, such as "http://0.0.0.0:80",
	// from which URLs of services are made. Called per request; must not wait.
	Listeners func() []string
	// ControllerName is the name under which a service's conditions are kept;
	// the default is its reconcile key, application/NAME.
	ControllerName func(service string) string
	// VolumeName is the engine's name of an app's volume.
	VolumeName func(app, volume string) string
	// Spec is what app.yaml is judged by; its File is set per request.
	Spec spec.Options

	Instance string // id of this Berth
	Version  string // of the daemon
	Revision string // of the source it was built from
	// AdminUID is the user beside root who may administer, usually the
	// daemon's own.
	AdminUID int
	Now      func() time.Time
	Logger   *slog.Logger
	// Heartbeat is how often a silent stream says that it lives; 0 means 15 s.
	Heartbeat time.Duration
	// MaxStreams bounds event streams open at once; 0 means 128.
	MaxStreams int
	// MaxExecs bounds commands that run in containers at once; 0 means 32.
	MaxExecs int
}

func (d Deps) withDefaults() Deps {
	if d.Doctor == nil {
		d.Doctor = func(context.Context) []wire.Check { return nil }
	}
	if d.Wake == nil {
		d.Wake = func(...string) {}
	}
	if d.Listeners == nil {
		d.Listeners = func() []string { return nil }
	}
	if d.ControllerName == nil {
		d.ControllerName = func(service string) string {
			return reconcile.Key{Kind: "application", Name: service}.String()
		}
	}
	if d.VolumeName == nil {
		d.VolumeName = func(_, volume string) string { return volume }
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Heartbeat <= 0 {
		d.Heartbeat = 15 * time.Second
	}
	if d.MaxStreams <= 0 {
		d.MaxStreams = 128
	}
	if d.MaxExecs <= 0 {
		d.MaxExecs = 32
	}
	if d.Nodes == nil {
		d.Nodes = thisMachine{d}
	}
	return d
}
