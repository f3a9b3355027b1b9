package backend

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Provision begins a lease, which is ready after the delay. One that is there and
// has not failed is ErrAlreadyProvisioned.
func (m *MockBackend) Provision(_ context.Context, req ProvisionRequest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, there := m.provisions[req.LeaseUUID]
	if there && l.Status != ProvisionStatusFailed {
		return fmt.Errorf("%w: %s", ErrAlreadyProvisioned, req.LeaseUUID)
	}
	if !there {
		l = &mockLease{}
		l.CreatedAt = time.Now().UTC()
		m.provisions[req.LeaseUUID] = l
	}
	l.Request = copyRequest(req)
	l.become(ProvisionStatusProvisioning)
	l.timer = time.AfterFunc(m.delay, func() { m.ready(req.LeaseUUID, l) })
	return nil
}

// ready ends the delay of a lease, unless it was preempted.
func (m *MockBackend) ready(leaseUUID string, l *mockLease) {
	m.mu.Lock()
	if m.provisions[leaseUUID] != l || l.timer == nil {
		m.mu.Unlock()
		return
	}
	l.timer = nil
	l.become(ProvisionStatusReady)
	callback := m.callback
	m.mu.Unlock()
	// Not under the lock: the function may call the mock.
	if callback != nil {
		callback(CallbackPayload{LeaseUUID: leaseUUID, Status: CallbackStatusSuccess, Backend: m.name})
	}
}

// GetInfo makes up how a lease that is ready is reached. Any other is
// ErrNotProvisioned.
func (m *MockBackend) GetInfo(_ context.Context, leaseUUID string) (*LeaseInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.provisions[leaseUUID]
	if !ok || l.Status != ProvisionStatusReady {
		return nil, fmt.Errorf("%w: %s", ErrNotProvisioned, leaseUUID)
	}
	return &LeaseInfo{
		Host:     "127.0.0.1",
		Protocol: "http",
		Ports:    map[string]PortBinding{"8080/tcp": {HostIP: "127.0.0.1", HostPort: "8080"}},
		Metadata: map[string]string{"backend": m.name, "lease_uuid": leaseUUID},
	}, nil
}

// Deprovision forgets a lease, which then has no callback any more.
func (m *MockBackend) Deprovision(_ context.Context, leaseUUID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.provisions[leaseUUID]; ok {
		l.preempt()
		delete(m.provisions, leaseUUID)
	}
	return nil
}

// ListProvisions is every lease, in the order of their UUIDs.
func (m *MockBackend) ListProvisions(context.Context) ([]ProvisionInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.infos(slices.Sorted(maps.Keys(m.provisions))), nil
}

// LookupProvisions is those of the leases that are known, in the order of their
// UUIDs and each once. More than MaxLookupUUIDs are ErrValidation.
func (m *MockBackend) LookupProvisions(_ context.Context, uuids []string) ([]ProvisionInfo, error) {
	if len(uuids) > MaxLookupUUIDs {
		return nil, fmt.Errorf("%w: a lookup of %d leases; the most is %d", ErrValidation, len(uuids), MaxLookupUUIDs)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.infos(slices.Compact(slices.Sorted(slices.Values(uuids)))), nil
}

// infos is those of the leases that are known; the lock is held.
func (m *MockBackend) infos(uuids []string) []ProvisionInfo {
	out := []ProvisionInfo{}
	for _, uuid := range uuids {
		if l, ok := m.provisions[uuid]; ok {
			out = append(out, l.info(m.name))
		}
	}
	return out
}

// GetProvision is one lease. One that is not known is ErrNotProvisioned.
func (m *MockBackend) GetProvision(_ context.Context, leaseUUID string) (*ProvisionInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.provisions[leaseUUID]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNotProvisioned, leaseUUID)
	}
	info := l.info(m.name)
	return &info, nil
}

// info is the lease as a backend tells it.
func (l *mockLease) info(backendName string) ProvisionInfo {
	info := ProvisionInfo{
		LeaseUUID: l.Request.LeaseUUID, ProviderUUID: l.Request.ProviderUUID, Tenant: l.Request.Tenant,
		Status: l.Status, CreatedAt: l.CreatedAt, FailCount: l.FailCount, BackendName: backendName,
		Quantity: l.Request.TotalQuantity(), Items: slices.Clone(l.Request.Items),
	}
	if len(info.Items) == 1 {
		info.SKU = info.Items[0].SKU
	}
	if info.Status == ProvisionStatusFailed {
		info.Reason = ReasonUnknown
	}
	return info
}

// copyRequest shares nothing with r that can change.
func copyRequest(r ProvisionRequest) ProvisionRequest {
	r.Items, r.Payload = slices.Clone(r.Items), slices.Clone(r.Payload)
	return r
}
