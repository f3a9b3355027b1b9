package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Config is what an [Engine] may be told. Its zero value works. The functions
// are called by workers with no lock held, and a panic in one of them is
// logged and does no harm.
type Config struct {
	// Workers is how many passes run at once; 0 means 8. A worker exists only
	// while there is something to run.
	Workers int
	// Group names what a key's passes load: the node the key's service runs on.
	// GroupLimit is how many keys of that group may run at once, 0 or less for
	// no bound; the group "" has none. Without both there is no bound but
	// Workers. A key's group is asked for before each of its passes, so a key may
	// move.
	Group      func(Key) string
	GroupLimit func(group string) int

	// PassTimeout bounds one pass; 0 means five minutes. A pass that overruns it
	// has its context cancelled and counts as failed.
	PassTimeout time.Duration
	// DrainTimeout is how long running passes may go on once Run is told to end,
	// before their contexts are cancelled; 0 means ten seconds.
	DrainTimeout time.Duration
	// Backoff spaces the passes of a failing key.
	Backoff Backoff

	// List returns every key there is. It is asked when Run starts, at each
	// Resync and for the watchdog, within 30 seconds; nil turns those off. A key
	// the engine knows and List does not name runs too, so that its factory can
	// say that it is gone.
	List func(ctx context.Context) ([]Key, error)
	// ResyncInterval is the time between two runs of the watchdog, which kicks
	// every key, spread over half of the interval; 0 means five minutes, less
	// than 0 turns it off.
	ResyncInterval time.Duration

	// Store keeps conditions; nil keeps them in memory only.
	Store ConditionStore
	// OnResult is called after each pass, before the key may run again. The key's
	// worker waits for it: it must be quick, and must not wait for the same key.
	OnResult func(Outcome)
	// Strict fails a pass whose conditions are malformed, for tests. Without it
	// they are repaired and the fault is logged.
	Strict bool

	// Logger receives what happens; nil discards it.
	Logger *slog.Logger
	// Now is the wall clock for the times that are shown and stored, and must not
	// call the engine; nil means time.Now. Waiting uses the monotonic clock and is not affected.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	if c.Workers <= 0 {
		c.Workers = 8
	}
	if c.PassTimeout <= 0 {
		c.PassTimeout = 5 * time.Minute
	}
	if c.DrainTimeout <= 0 {
		c.DrainTimeout = 10 * time.Second
	}
	if c.ResyncInterval == 0 {
		c.ResyncInterval = 5 * time.Minute
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Backoff = c.Backoff.withDefaults()
	return c
}

const (
	listTimeout  = 30 * time.Second // one call of Config.List
	storeTimeout = 5 * time.Second  // one call of Config.Store
)

// Errors of the engine. The first three are found in [Outcome.Err].
var (
	// ErrPanic is a pass that panicked; the stack is in the log.
	ErrPanic = errors.New("the pass panicked")
	// ErrPassTimeout is a pass that failed after its time was up.
	ErrPassTimeout = errors.New("the pass took longer than it may")
	// ErrMalformed is a condition that breaks the contract, under Config.Strict.
	ErrMalformed = errors.New("malformed condition")
	// ErrRunTwice is a second Run of one engine.
	ErrRunTwice = errors.New("an engine runs once")
	// ErrOwnPass is a Preempt from within a pass of the same key, which would
	// wait for itself.
	ErrOwnPass = errors.New("a pass cannot preempt its own key")
)

// The causes with which the engine cancels a pass.
var (
	errPreempted = errors.New("the pass was preempted")
	errStopped   = errors.New("the engine is stopping")
)
