package lead

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/storage"
)

// The failures a caller can tell apart with errors.Is.
var (
	// ErrOptions: an elector cannot work with these options.
	ErrOptions = errors.New("invalid options of an election")
	// ErrNoConditions: the store writes although its condition does not hold, so
	// that several could lead at once. Nobody does.
	ErrNoConditions = errors.New("the store does not heed conditions")
	// ErrStuck: what a leader does did not end in time after its lease was over. The
	// process should end.
	ErrStuck = errors.New("the work of a leader does not end")
	// ErrRunTwice: an elector runs once.
	ErrRunTwice = errors.New("the elector was run before")

	// ErrDeposed is the cause with which the context of a leader's work ends when its
	// lease was not renewed in time, or another one leads.
	ErrDeposed = errors.New("the lease is over")
	// ErrStopped is that cause when the elector is to end.
	ErrStopped = errors.New("the elector ends")
)

// Options are an elector's.
type Options struct {
	// Storage is that of the shard; required.
	Storage storage.Storage
	// Key is the lock object, DefaultKey when empty. The marker is beside it.
	Key string
	// Holder names this server for people, "server-a"; required. Two with one name
	// are two.
	Holder string
	// Election has interval and timeout, the timeout being the longer one; zero
	// values are 5 and 15 seconds.
	Election config.Election
	// StopTimeout is how long the work of a leader may take to end; 0 is 10 seconds.
	StopTimeout time.Duration
	// Floor is asked for the greatest term that anything was ever written in, when
	// the lock object is missing, as after somebody deleted it. Nil is none.
	Floor func(ctx context.Context) (uint64, error)
	// Now is the clock, with its monotonic part; nil is time.Now.
	Now func() time.Time
	// Session makes this elector's writes its own; empty is a random one. An elector goes
	// on at once where one with the same session led: one may be given only where no two
	// can run, and in tests.
	Session string
	Logger  *slog.Logger // nil discards
}

// DefaultKey is where the lock object is.
const DefaultKey = "leader.json"

func (o *Options) settle() error {
	if o.Storage == nil || o.Holder == "" {
		return fmt.Errorf("%w: a store and a holder are needed", ErrOptions)
	}
	if o.Key == "" {
		o.Key = DefaultKey
	}
	if o.Election.Interval == 0 {
		o.Election.Interval = config.Duration(5 * time.Second)
	}
	if o.Election.Timeout == 0 {
		o.Election.Timeout = 3 * o.Election.Interval
	}
	if o.Election.Interval < 0 || o.Election.Timeout <= o.Election.Interval {
		return fmt.Errorf("%w: the timeout %v has to be longer than the interval %v", ErrOptions, o.Election.Timeout, o.Election.Interval)
	}
	if o.StopTimeout <= 0 {
		o.StopTimeout = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// timing is derived as the documentation of the package says.
type timing struct {
	renew time.Duration // between renewals
	retry time.Duration // after one that failed
	lease time.Duration // of a holder, from before its write
	poll  time.Duration // of the others
	take  time.Duration // of the others, from after they saw a change
	call  time.Duration // one call of the store
	rest  time.Duration // of one whose work ended by itself
}

func (o *Options) timing() timing {
	i, t := o.Election.Interval.Std(), o.Election.Timeout.Std()
	r := t - i
	lease := t - r/2 - r/8
	return timing{renew: i, retry: r / 16, lease: lease, poll: r / 4, take: t - r/2, call: lease / 3, rest: t}
}
