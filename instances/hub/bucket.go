package hub

import "time"

// bucket bounds how often something may happen. One goroutine uses it.
type bucket struct {
	tokens, burst, perSecond float64
	at                       time.Time
}

func newBucket(l Limits, now time.Time) *bucket {
	return &bucket{tokens: float64(l.Burst), burst: float64(l.Burst), perSecond: float64(l.FramesPerSec), at: now}
}

func (b *bucket) take(now time.Time) bool {
	b.tokens = min(b.burst, b.tokens+b.perSecond*now.Sub(b.at).Seconds())
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
