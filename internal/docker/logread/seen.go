package logread

import (
	"sync"
	"time"
)

// seen remembers the time of the last line delivered of each container, by name,
// from which its follower goes on.
type seen struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func newSeen() *seen { return &seen{last: map[string]time.Time{}} }

func (s *seen) note(container string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[container] = at
}

// next is from when on lines of the container are new; def when none was seen.
func (s *seen) next(container string, def time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.last[container]; ok {
		return at.Add(1)
	}
	return def
}
