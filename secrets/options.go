package secrets

import "time"

// Option changes how a vault works.
type Option func(*options)

type options struct{ now func() time.Time }

// WithClock gives the clock for the times in Metadata; without it the vault
// uses time.Now.
func WithClock(now func() time.Time) Option {
	return func(o *options) { o.now = now }
}

func newOptions(opts []Option) options {
	o := options{now: time.Now}
	for _, set := range opts {
		set(&o)
	}
	return o
}
