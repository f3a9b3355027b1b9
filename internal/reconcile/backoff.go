package reconcile

import (
	"math/rand/v2"
	"time"
)

// Backoff says how long to wait after the n-th failure in a row.
type Backoff struct {
	// Base is the longest wait after the first failure; 0 means 250 ms.
	Base time.Duration
	// Ceiling is the longest wait of all; 0 means one minute.
	Ceiling time.Duration
	// Rand returns a number in [0, 1) and must be safe for concurrent use; nil
	// means math/rand.
	Rand func() float64
}

func (b Backoff) withDefaults() Backoff {
	if b.Base <= 0 {
		b.Base = 250 * time.Millisecond
	}
	if b.Ceiling <= 0 {
		b.Ceiling = time.Minute
	}
	b.Ceiling = max(b.Ceiling, b.Base)
	if b.Rand == nil {
		b.Rand = rand.Float64
	}
	return b
}

// Delay is the wait after the given number of failures in a row: Base doubled
// for each failure after the first, at most Ceiling, of which a random part of
// up to a half is taken off, so that keys that failed together do not return
// together. No failure means no wait.
func (b Backoff) Delay(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	b = b.withDefaults()
	d := b.Base
	for range failures - 1 {
		if d >= b.Ceiling/2 {
			d = b.Ceiling
			break
		}
		d *= 2
	}
	return max(d-time.Duration(b.Rand()*float64(d/2)), 1)
}
