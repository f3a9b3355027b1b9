package agent

import (
	"context"
	"time"
)

// backoff are pauses that grow and are spread by chance, so that the machines of a
// control plane that comes back do not all come back at once.
type backoff struct {
	min, max, slow time.Duration
	jitter         func() float64
	next           time.Duration
	short          int // connections in a row that did not last
}

func (a *Agent) newBackoff() *backoff {
	t := a.cfg.Timing
	return &backoff{min: t.RetryMin, max: t.RetryMax, slow: t.RetrySlow, jitter: a.cfg.Jitter}
}

// pause is the next one: between half and all of what doubles each time. After a refusal
// that stays it is a long one.
func (b *backoff) pause(final bool) time.Duration {
	d := max(b.next, b.min)
	b.next = min(2*d, b.max)
	if final {
		d = max(b.slow, d)
	}
	return d/2 + time.Duration(b.jitter()*float64(d/2))
}

// ended is what the end of a connection does to the pauses: failures from before it count
// no more, as it went well; connections in a row that did not last do.
func (b *backoff) ended(lasted bool) {
	b.next = 0
	if lasted {
		b.short = 0
		return
	}
	for range b.short {
		b.next = min(2*max(b.next, b.min), b.max)
	}
	if b.next < b.max {
		b.short++
	}
}

func (b *backoff) reset() { b.next, b.short = 0, 0 }

// bound lets no pause be longer than the time between two heartbeats of an end that has
// taken the machine: whoever misses three takes it for a dead one, however often that end
// went away itself before.
func (b *backoff) bound(heartbeat time.Duration) {
	b.max = max(min(b.max, heartbeat), b.min)
	b.next = min(b.next, b.max)
}

// sleep is false when ctx was done first, and ends early when early does.
func sleep(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-early:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
