package outbox

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/provider"
)

// Times and bounds.
const (
	// SendTimeout bounds one attempt, with the name's look-up and the answer.
	SendTimeout = 10 * time.Second
	// MaxAge is how old a callback may become before it is given up.
	MaxAge = 24 * time.Hour
	// MaxPending is how many callbacks of one lease may wait.
	MaxPending = 128
	// MaxRemembered is how many operations that are over a lease remembers, so that
	// an Add of one of them adds nothing.
	MaxRemembered = 64
	// MaxBackoff is the longest wait between two attempts.
	MaxBackoff = 5 * time.Minute

	firstBackoff = 2 * time.Second  // at most; half of it at least
	claimTime    = 20 * time.Second // an attempt, and the writing before and after
	storeTimeout = 5 * time.Second  // of one change of a record
)

// Config is what an Outbox needs. Store, Prefix, Key and Client have no default.
type Config struct {
	// Store has the records, below Prefix: a key without a slash at its end. No other
	// may write there.
	Store  provider.StateStore
	Prefix string

	// Key signs the callbacks.
	Key *hmacauth.Key

	// Client sends them: that of package egress. Redirects are not followed and
	// cookies not kept, whatever it does otherwise.
	Client *http.Client

	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Rand is in [0, 1), and may be called by many at once; nil is math/rand.
	Rand func() float64
	// Logger is for the operator. Nil is none.
	Logger *slog.Logger

	Metrics Metrics
}

// Metrics are left out where nil. Nothing is registered here.
type Metrics struct {
	// Pending is how many callbacks wait. It is set by Outbox.Pending and kept from
	// there; a write of which nobody knows whether it happened is not in it.
	Pending prometheus.Gauge

	Sent     prometheus.Counter // acknowledged callbacks
	Failed   prometheus.Counter // attempts that came to nothing
	GivenUp  prometheus.Counter // callbacks that became too old
	NoTarget prometheus.Counter // callbacks of leases without a URL
}

func (m Metrics) pending(n int) {
	if m.Pending != nil && n != 0 {
		m.Pending.Add(float64(n))
	}
}

func count(c prometheus.Counter, n int) {
	if c != nil {
		c.Add(float64(n))
	}
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (c Config) check() error {
	var wrong []error
	if c.Store == nil {
		wrong = append(wrong, errors.New("there is no store"))
	}
	if c.Key == nil {
		wrong = append(wrong, errors.New("there is no key to sign with"))
	}
	if c.Client == nil {
		wrong = append(wrong, errors.New("there is no HTTP client"))
	}
	if err := provider.CheckKey(c.Prefix); err != nil {
		wrong = append(wrong, fmt.Errorf("the prefix: %w", err))
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("callbacks: %w", errors.Join(wrong...))
}
