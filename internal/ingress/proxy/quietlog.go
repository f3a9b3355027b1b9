package proxy

import (
	"log/slog"
	"sync"
	"time"
)

// quietLog writes at most one warning per key and interval, with the number of
// those left out: a service that is down must not fill the disk.
type quietLog struct {
	log   *slog.Logger
	now   func() time.Time
	every time.Duration

	mu   sync.Mutex
	last map[string]quietEntry
}

type quietEntry struct {
	at      time.Time
	skipped int
}

// maxQuietKeys bounds the memory of keys; they are forgotten all at once.
const maxQuietKeys = 4096

func newQuietLog(log *slog.Logger, now func() time.Time, every time.Duration) *quietLog {
	return &quietLog{log: log, now: now, every: every, last: make(map[string]quietEntry)}
}

func (q *quietLog) warn(key string, args ...any) {
	now := q.now()
	q.mu.Lock()
	e, known := q.last[key]
	if known && now.Sub(e.at) < q.every {
		e.skipped++
		q.last[key] = e
		q.mu.Unlock()
		return
	}
	if len(q.last) >= maxQuietKeys {
		clear(q.last)
	}
	q.last[key] = quietEntry{at: now}
	q.mu.Unlock()
	if e.skipped > 0 {
		args = append(args, "similar_not_logged", e.skipped)
	}
	q.log.Warn("request failed", args...)
}
