package backend

import (
	"context"
	"errors"

	"github.com/sony/gobreaker/v2"
)

// answers are errors with which the backend shows that it works.
var answers = []error{
	ErrNotProvisioned, ErrValidation, ErrInsufficientResources, ErrAlreadyProvisioned,
	ErrInvalidState, ErrNotRetained, ErrDemoteDataExceedsTier, ErrRestoreRefused,
}

func isAnswer(err error) bool {
	for _, a := range answers {
		if errors.Is(err, a) {
			return true
		}
	}
	return false
}

// uncounted is an error that says nothing about the backend, good or bad.
type uncounted struct{ error }

func (u uncounted) Unwrap() error { return u.error }

func (c *HTTPClient) newBreaker() *gobreaker.CircuitBreaker[struct{}] {
	c.showBreaker(gobreaker.StateClosed)
	return gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        c.cfg.Name,
		MaxRequests: c.cfg.CBMaxRequests,
		Interval:    c.cfg.CBInterval,
		Timeout:     c.cfg.CBTimeout,
		ReadyToTrip: func(counts gobreaker.Counts) bool {
			return counts.ConsecutiveFailures >= c.cfg.CBFailureThresh
		},
		OnStateChange: func(_ string, from, to gobreaker.State) {
			c.showBreaker(to)
			c.log.Warn("circuit breaker changed", "backend", c.cfg.Name, "from", from.String(), "to", to.String())
		},
		IsSuccessful: func(err error) bool { return err == nil || isAnswer(err) },
		IsExcluded: func(err error) bool {
			return err != nil && errors.As(err, new(uncounted))
		},
	})
}

func (c *HTTPClient) showBreaker(state gobreaker.State) {
	if c.cfg.CircuitBreakerState != nil {
		c.cfg.CircuitBreakerState.WithLabelValues(c.cfg.Name).Set(float64(state))
	}
}

// guarded runs a call through the breaker. The caller having left is nothing that
// the backend did.
func (c *HTTPClient) guarded(ctx context.Context, call func() error) error {
	_, err := c.breaker.Execute(func() (struct{}, error) {
		err := call()
		if err != nil && !isAnswer(err) && errors.Is(ctx.Err(), context.Canceled) {
			err = uncounted{err}
		}
		return struct{}{}, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return ErrCircuitOpen
	}
	return err
}
