package backend

import (
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// HTTPClientConfig is what an HTTPClient needs. A zero field has the default.
type HTTPClientConfig struct {
	Name                string
	BaseURL             string
	Timeout             time.Duration // of a call with its answer; 30 s
	MaxIdleConns        int           // 100
	MaxIdleConnsPerHost int           // 10
	// Secret signs requests; "" leaves them unsigned, which is for development. It
	// has at least hmacauth.MinSecretLength bytes.
	Secret string

	// TLSClientConfig is used for https. Whoever makes the client reads the files;
	// PinServerNames makes one that knows its server by name.
	TLSClientConfig *tls.Config

	CBMaxRequests   uint32        // requests at once while the breaker is half open; 1
	CBInterval      time.Duration // after which a closed breaker forgets failures; 0 is never
	CBTimeout       time.Duration // from open to half open; 60 s
	CBFailureThresh uint32        // failures in a row that open it; 5

	// Bounds of what is read of an answer, in bytes; see the DefaultMax constants.
	MaxInfoBytes             int64
	MaxProvisionBytes        int64
	MaxProvisionsBytes       int64 // of a page
	MaxLookupProvisionsBytes int64
	MaxLogsBytes             int64
	MaxReleasesBytes         int64
	MaxStatsBytes            int64
	MaxRetentionsBytes       int64 // of a page
	ProvisionsPageLimit      int   // leases of a page; DefaultProvisionsPageLimit

	// Metrics, each left out when nil. Nothing is registered here.
	RequestDuration     *prometheus.HistogramVec // labels backend, operation, status
	RequestsTotal       *prometheus.CounterVec   // labels backend, operation, status
	CircuitBreakerState *prometheus.GaugeVec     // label backend; 0 closed, 1 half open, 2 open
	MalformedErrors     *prometheus.CounterVec   // label backend; see ErrMalformedErrorBody

	// Logger is told of the breaker, of malformed bodies and of codes that this
	// version does not know. Nil is nobody.
	Logger *slog.Logger
	// Now is the clock of signatures and of RequestDuration; nil is time.Now.
	Now func() time.Time
}
