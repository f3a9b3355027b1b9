package rollout

import (
	"context"
	"log/slog"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// Providers finds the provider of a workload; *provider.Registry does.
type Providers interface {
	// Resolve finds the key that a name means.
	Resolve(name string) (string, provider.Provider, error)

	// ResolveDefault is Resolve when there is no name.
	ResolveDefault() (string, provider.Provider, error)

	// Acquire finds the provider of a key and the context for calls to it.
	Acquire(ctx context.Context, key string) (context.Context, provider.Provider, error)
}

var _ Providers = (*provider.Registry)(nil)

// Options is what a Manager may be given. Every zero field has a meaning.
type Options struct {
	// Now is the clock that records are stamped with and deadlines held against;
	// nil is time.Now.
	Now func() time.Time

	// NewID makes the ids of rollouts and releases; nil is id.New.
	NewID func(kind string) id.ID

	// Policy is for every workload.
	Policy Policy

	// Logger gets one line for every transition; nil is none.
	Logger *slog.Logger

	// Events gets every transition once it is recorded, from the goroutine that
	// made it. It must not block. Nil is none.
	Events func(Event)

	// Vault keeps the content of config files, so that records hold keys alone.
	// Without one a config file whose content is in the request is refused.
	Vault secrets.Vault

	// Prefix begins the keys of the records in the store; empty is DefaultPrefix.
	Prefix string
}

// DefaultPrefix is the part of the store that a Manager uses.
const DefaultPrefix = "rollout"

// Policy says how long to try, and what to keep.
type Policy struct {
	// Deadline is how long a rollout may take, from being recorded to being
	// ready. Zero is DefaultDeadline.
	Deadline time.Duration

	// UndoDeadline is how long the way back may take. Zero is
	// DefaultUndoDeadline.
	UndoDeadline time.Duration

	// CallTimeout bounds one call of the provider. Zero is DefaultCallTimeout.
	CallTimeout time.Duration

	// MaxAttempts is how often a call is made in one phase that fails with an
	// error nobody knows; those that a provider says will pass are repeated until the
	// deadline. Zero is DefaultMaxAttempts.
	MaxAttempts int

	// KeepFailed leaves a release that failed as the wanted one. Without it the
	// release before is asked for again.
	KeepFailed bool

	// KeepReleases is how many releases are kept that nothing refers to. Zero is
	// DefaultKeepReleases.
	KeepReleases int

	// KeepRollouts is how many ended rollouts are kept, the newest, and with them
	// the memory of which requests were seen. Zero is DefaultKeepRollouts.
	KeepRollouts int
}

// What the zero fields of a Policy mean.
const (
	DefaultDeadline     = 15 * time.Minute
	DefaultUndoDeadline = 10 * time.Minute
	DefaultCallTimeout  = 2 * time.Minute
	DefaultMaxAttempts  = 5
	DefaultKeepReleases = 20
	DefaultKeepRollouts = 50
)

// The wait after a call that failed: it doubles from firstRetry to lastRetry.
const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 30 * time.Second
)

func backoff(attempts int) time.Duration {
	if attempts > 8 {
		return lastRetry
	}
	return min(firstRetry<<max(attempts-1, 0), lastRetry)
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = id.New
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Events == nil {
		o.Events = func(Event) {}
	}
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	o.Policy = o.Policy.withDefaults()
	return o
}

func (p Policy) withDefaults() Policy {
	p.Deadline = positive(p.Deadline, DefaultDeadline)
	p.UndoDeadline = positive(p.UndoDeadline, DefaultUndoDeadline)
	p.CallTimeout = positive(p.CallTimeout, DefaultCallTimeout)
	p.MaxAttempts = positive(p.MaxAttempts, DefaultMaxAttempts)
	p.KeepReleases = positive(p.KeepReleases, DefaultKeepReleases)
	p.KeepRollouts = positive(p.KeepRollouts, DefaultKeepRollouts)
	return p
}

func positive[T int | time.Duration](v, fallback T) T {
	if v > 0 {
		return v
	}
	return fallback
}
