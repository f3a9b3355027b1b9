package callback

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hmacauth"
)

// MaxBodyBytes bounds a callback.
const MaxBodyBytes = 64 << 10

// Defaults of a Config.
const (
	DefaultRemember = 4096
	DefaultTimeout  = 30 * time.Second
)

// Window is how long the first answer to a signature is kept: as long as the
// signature may be good. A signature counts whole seconds, so that it is good to the
// end of its last one.
const Window = hmacauth.MaxAge + hmacauth.MaxSkew + time.Second

// Authenticator is what checks signatures: an hmacauth.Verifier, which knows a
// path prefix that a proxy strips.
type Authenticator interface {
	// Middleware hands what is signed well on to next, with a body that can be read
	// again, and answers all else. It reads at most maxBody bytes of a body.
	Middleware(maxBody int64, next http.Handler) http.Handler
}

var _ Authenticator = (*hmacauth.Verifier)(nil)

// Config is what a Receiver needs. A zero field has the default, where it has one.
type Config struct {
	// Auth checks signatures. Without it every callback is answered with 503.
	Auth Authenticator

	// Deliver hands a callback to the ledger, durably: once it returns nil the
	// sender forgets. Its context ends after Timeout, and not with the sender's
	// connection. Without it every callback is answered with 503.
	Deliver func(ctx context.Context, p backend.CallbackPayload) error

	// Timeout bounds one delivery; DefaultTimeout.
	Timeout time.Duration

	// Remember is how many answers are kept, and how many deliveries may be under
	// way; DefaultRemember. Beyond it the oldest answer goes, and a callback of it
	// that came again would be delivered again.
	Remember int

	// Logger gets what the sender is not told. Nil is none.
	Logger *slog.Logger

	// Clock is the time by which answers age; time.Now.
	Clock func() time.Time
}

func (c Config) withDefaults() Config {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Remember <= 0 {
		c.Remember = DefaultRemember
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return c
}
