package group

import (
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// memory is what is known of a group beside its rows, for as long as this process leads.
// All of it may be lost.
type memory struct {
	mu sync.Mutex

	launch      LaunchState
	lastFailure time.Time
	// failed are the machines whose failure was counted, expected those that were made
	// and perhaps have no row yet.
	failed   map[string]bool
	expected map[string]time.Time
	signs    map[string]sign // outlive a connection
	looks    map[string]look
	// drains are those of this term: a mark that an earlier leader left in a cache says
	// nothing about what was decided since.
	drains   map[string]time.Time
	removals map[string]try
}

// sign is the last one of a machine, and when it was first missed since.
type sign struct {
	Sign
	lostAt time.Time
}

// look is what the provider said of a machine.
type look struct {
	at     time.Time
	status *instances.InstanceStatus
	gone   time.Time // when it first said so, without another answer since
	twice  bool
}

// try is how often something was tried, and when it is due again.
type try struct {
	count int
	due   time.Time
}

func newMemory() *memory {
	return &memory{
		failed: map[string]bool{}, expected: map[string]time.Time{},
		signs: map[string]sign{}, looks: map[string]look{}, drains: map[string]time.Time{}, removals: map[string]try{},
	}
}

// keep forgets machines that are no members any more.
func (m *memory) keep(members map[string]bool) {
	prune(m.failed, members)
	prune(m.signs, members)
	prune(m.looks, members)
	prune(m.drains, members)
	prune(m.removals, members)
}

func prune[V any](of map[string]V, members map[string]bool) {
	for id := range of {
		if !members[id] {
			delete(of, id)
		}
	}
}

// failure counts a launch that did not work. again is how long the provider asks to
// wait, 0 when it did not say.
func (m *memory) failure(now time.Time, b reconcile.Backoff, reason string, again time.Duration) {
	m.launch.Failures++
	m.launch.Reason = reason
	m.launch.NotBefore = now.Add(max(b.Delay(m.launch.Failures), again))
	m.lastFailure = now
}

// registered ends a row of failures when a machine has registered since the last one.
func (m *memory) registered(at time.Time) {
	if m.launch.Failures > 0 && at.After(m.lastFailure) {
		m.launch, m.lastFailure = LaunchState{}, time.Time{}
	}
}

// tried notes a removal.
func (m *memory) tried(id string, now time.Time, b reconcile.Backoff) {
	t := m.removals[id]
	t.count++
	t.due = now.Add(b.Delay(t.count))
	m.removals[id] = t
}
