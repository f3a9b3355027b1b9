package backend

import (
	"slices"
	"sync"
	"time"
)

// MockBackendConfig is what a MockBackend needs.
type MockBackendConfig struct {
	Name string
	// ProvisionDelay is how long a lease is on its way before it is ready.
	ProvisionDelay time.Duration
}

// MockBackend is a Backend for tests. It keeps its leases in memory, and each is
// ready after a delay. It believes every request, has no logs and no releases, and
// Restart, Update, RefreshState and ReconcileCustomDomain do nothing.
//
// It asks for no context, as nothing in it waits.
type MockBackend struct {
	name  string
	delay time.Duration

	mu         sync.Mutex
	provisions map[string]*mockLease
	callback   func(CallbackPayload)
	stats      *LoadStats
	retentions []RetainedLease
}

var _ Backend = (*MockBackend)(nil)

// mockProvision is a lease as a test may look at it.
type mockProvision struct {
	Request   ProvisionRequest // as it came last
	Status    ProvisionStatus
	CreatedAt time.Time
	FailCount int
}

// mockLease is a lease with the timer that is going to make it ready; nil when
// nothing is.
type mockLease struct {
	mockProvision
	timer *time.Timer
}

// preempt keeps the lease from becoming ready by itself. A timer that has fired
// already finds that it is no longer meant.
func (l *mockLease) preempt() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// NewMockBackend makes a MockBackend without leases.
func NewMockBackend(cfg MockBackendConfig) *MockBackend {
	return &MockBackend{name: cfg.Name, delay: cfg.ProvisionDelay, provisions: map[string]*mockLease{}}
}

// SetCallbackFunc gives the function that is told when a lease has come to be
// ready. It is called by a goroutine of its own, and may call the mock. What the
// mock is asked while the function runs does not stop it.
func (m *MockBackend) SetCallbackFunc(fn func(CallbackPayload)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.callback = fn
}

// SetLoadStats gives what GetLoadStats answers; nil is a backend that does not
// count.
func (m *MockBackend) SetLoadStats(stats *LoadStats) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats = copyStats(stats)
}

func copyStats(stats *LoadStats) *LoadStats {
	if stats == nil {
		return nil
	}
	c := *stats
	return &c
}

// SetRetentions gives what ListRetentions answers.
func (m *MockBackend) SetRetentions(r []RetainedLease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retentions = slices.Clone(r)
}

// SetProvisionStatus puts a lease into a status, in which it stays: one that was on
// its way has no callback any more. A lease that is not known stays so.
func (m *MockBackend) SetProvisionStatus(leaseUUID string, status ProvisionStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.provisions[leaseUUID]; ok {
		l.preempt()
		l.become(status)
	}
}

// become changes the status and counts failures.
func (l *mockLease) become(status ProvisionStatus) {
	switch {
	case status == ProvisionStatusReady:
		l.FailCount = 0
	case status == ProvisionStatusFailed && l.Status != status:
		l.FailCount++
	}
	l.Status = status
}

// GetMockProvision is a copy of what the mock has of a lease.
func (m *MockBackend) GetMockProvision(leaseUUID string) (*mockProvision, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.provisions[leaseUUID]
	if !ok {
		return nil, false
	}
	p := l.mockProvision
	p.Request = copyRequest(p.Request)
	return &p, true
}

// Clear forgets every lease. Those on their way have no callback any more.
func (m *MockBackend) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.provisions {
		l.preempt()
	}
	clear(m.provisions)
}
