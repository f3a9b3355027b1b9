package provider

import (
	"context"
	"errors"
	"time"
)

// Metrics takes measurements. Names are constants of the package that measures,
// and every label has few values: types of providers, methods, outcomes; never an
// instance, a tenant or a registry key. Implementations are safe for concurrent use and do
// not block.
type Metrics interface {
	// Add adds n to a counter.
	Add(name string, n int64, labels ...Label)

	// Observe records how long something took.
	Observe(name string, took time.Duration, labels ...Label)
}

// Label is one dimension of a measurement.
type Label struct {
	Key   string
	Value string
}

// Keys and values of labels.
const (
	LabelProvider = "provider" // TypeName of the provider
	LabelMethod   = "method"
	LabelOutcome  = "outcome" // one of the outcomes below

	OutcomeOK       = "ok"
	OutcomeError    = "error"
	OutcomeNotFound = "not_found"
	OutcomeCanceled = "canceled"
)

// What the Registry measures, each with LabelProvider and LabelOutcome.
const (
	// MetricCredentials counts the calls of the CredentialsResolver.
	MetricCredentials = "provider.credentials.resolve"

	// MetricCredentialsDuration is how long they took.
	MetricCredentialsDuration = "provider.credentials.resolve.duration"
)

// Outcome is the value of LabelOutcome for a call that returned err.
func Outcome(err error) string {
	switch {
	case err == nil:
		return OutcomeOK
	case errors.Is(err, ErrNotFound):
		return OutcomeNotFound
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return OutcomeCanceled
	default:
		return OutcomeError
	}
}
