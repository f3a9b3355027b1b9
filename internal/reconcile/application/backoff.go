package application

import (
	"sync"
	"time"
)

// RestartBackoff delays the restart of what keeps ending: the first one waits
// base, each further one twice as long up to a ceiling. What then holds out
// for resetAfter starts over. It is kept in memory only and safe for
// concurrent use.
type RestartBackoff struct {
	base, ceiling, resetAfter time.Duration

	mu      sync.Mutex
	entries map[string]backoffEntry
}

type backoffEntry struct {
	delay time.Duration
	until time.Time
}

// NewRestartBackoff builds a tracker. A zero base disables the delay.
func NewRestartBackoff(base, ceiling, resetAfter time.Duration) *RestartBackoff {
	return &RestartBackoff{base: base, ceiling: ceiling, resetAfter: resetAfter, entries: map[string]backoffEntry{}}
}

// Note records an end and returns when the next start may be.
func (b *RestartBackoff) Note(name string, now time.Time) time.Time {
	if b.base <= 0 {
		return now
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(now)
	e := b.entries[name]
	switch {
	case e.delay == 0:
		e.delay = b.base
	default:
		e.delay = min(e.delay*2, b.ceiling)
	}
	e.until = now.Add(e.delay)
	b.entries[name] = e
	return e.until
}

// drop forgets entries that held out, which also bounds the map.
func (b *RestartBackoff) drop(now time.Time) {
	for name, e := range b.entries {
		if now.Sub(e.until) >= b.resetAfter {
			delete(b.entries, name)
		}
	}
}
