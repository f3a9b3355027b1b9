package server

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-cloud/berth/backend/hmacauth"
)

// Defaults of a Config.
const (
	DefaultMaxBodyBytes int64 = 2 << 20
	DefaultTimeout            = 30 * time.Second
)

// Authenticator lets through to next what it believes, with a body that can be
// read again, and answers all else itself.
type Authenticator interface {
	// Middleware reads at most maxBody bytes of a body.
	Middleware(maxBody int64, next http.Handler) http.Handler
}

// Config is how a backend is offered. A zero field has the default.
type Config struct {
	// Auth checks every request but those of /health, /stats and /metrics: an
	// hmacauth.Verifier. Without it, all that it would check are refused.
	Auth Authenticator

	// Unsigned lets requests through that nobody checked, when Auth is nil. It is
	// for development on one machine.
	Unsigned bool

	// MaxBodyBytes bounds the body of a request; DefaultMaxBodyBytes.
	MaxBodyBytes int64

	// Timeout bounds one call of the backend; DefaultTimeout.
	Timeout time.Duration

	// Metrics answers GET /metrics, unsigned; nil leaves the path out.
	Metrics http.Handler

	// Notes are what GET /health says beside the status, such as a promise that is
	// not enforced. They are for everybody who can reach the port.
	Notes []string

	// Logger gets errors that the answer does not tell. Nil is none.
	Logger *slog.Logger

	// Clock measures how long a request takes; time.Now.
	Clock func() time.Time

	// Metrics of requests, each left out when nil. Nothing is registered here.
	RequestsTotal   *prometheus.CounterVec   // labels operation, code
	RequestDuration *prometheus.HistogramVec // label operation; seconds
}

func (c Config) withDefaults() Config {
	if c.MaxBodyBytes <= 0 {
		c.MaxBodyBytes = DefaultMaxBodyBytes
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return c
}

// refuseAll is the Authenticator of a server that was given none.
type refuseAll struct{}

var _ Authenticator = refuseAll{}
var _ Authenticator = (*hmacauth.Verifier)(nil)

func (refuseAll) Middleware(int64, http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusUnauthorized, "this server has no secret to check signatures with")
	})
}

// letAll is that of a server for development.
type letAll struct{}

var _ Authenticator = letAll{}

func (letAll) Middleware(_ int64, next http.Handler) http.Handler { return next }
