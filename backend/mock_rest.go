package backend

import (
	"context"
	"fmt"
)

// What follows has an answer that is given, or none.

// Health is nil.
func (m *MockBackend) Health(context.Context) error { return nil }

// RefreshState does nothing.
func (m *MockBackend) RefreshState(context.Context) error { return nil }

// GetLogs is empty.
func (m *MockBackend) GetLogs(context.Context, string, int) (map[string]string, error) {
	return map[string]string{}, nil
}

// Restart does nothing.
func (m *MockBackend) Restart(context.Context, RestartRequest) error { return nil }

// Update does nothing.
func (m *MockBackend) Update(context.Context, UpdateRequest) error { return nil }

// Restore does nothing. Where the lease to restore from is not there, as a stand-in
// for what is retained, it is ErrNotRetained.
func (m *MockBackend) Restore(_ context.Context, req RestoreRequest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.provisions[req.FromLeaseUUID]; !ok {
		return fmt.Errorf("%w: %s", ErrNotRetained, req.FromLeaseUUID)
	}
	return nil
}

// ReconcileCustomDomain does nothing.
func (m *MockBackend) ReconcileCustomDomain(context.Context, string, []LeaseItem) error { return nil }

// GetReleases is empty.
func (m *MockBackend) GetReleases(context.Context, string) ([]ReleaseInfo, error) {
	return []ReleaseInfo{}, nil
}

// GetLoadStats is a copy of what SetLoadStats gave, or nil.
func (m *MockBackend) GetLoadStats(context.Context) (*LoadStats, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return copyStats(m.stats), nil
}

// ListRetentions is a copy of what SetRetentions gave, or empty.
func (m *MockBackend) ListRetentions(context.Context) ([]RetainedLease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]RetainedLease{}, m.retentions...), nil
}

// Name is that of the configuration.
func (m *MockBackend) Name() string { return m.name }
