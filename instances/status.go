package instances

import (
	"context"
	"fmt"
	"maps"

	"github.com/berth-cloud/berth/instances/infra"
)

// GetInstanceStatus returns the current status of an instance: of the tenant in the
// context, if WithTenant put one there. Without one it is for callers inside; whoever
// passes on what others ask uses GetInstanceStatusFor.
func (m *Manager) GetInstanceStatus(ctx context.Context, instanceID string) (*InstanceStatus, error) {
	tenant, err := m.tenantOf(ctx, instanceID)
	if err != nil {
		return nil, fmt.Errorf("status of instance %s: %w", clip(instanceID), err)
	}
	return m.GetInstanceStatusFor(ctx, tenant, instanceID)
}

// GetInstanceStatusFor returns what the provider says now of an instance of a tenant,
// and what its record says. It changes nothing. Another tenant's is
// ErrInstanceNotFound; a provider that cannot be asked is its error.
func (m *Manager) GetInstanceStatusFor(ctx context.Context, tenant, instanceID string) (*InstanceStatus, error) {
	r, _, err := m.read(ctx, tenant, instanceID)
	if err != nil {
		return nil, fmt.Errorf("status of instance %s: %w", clip(instanceID), err)
	}
	s := &InstanceStatus{
		InstanceID: r.InstanceID, Group: r.Group, ProviderInstanceID: r.ProviderInstanceID,
		Status: r.Status, InstanceType: r.InstanceType, PrivateIPv4: r.PrivateIPv4, PrivateIPv6: r.PrivateIPv6,
		CreatedAt: r.CreatedAt, LastUpdated: r.LastUpdated, Tags: maps.Clone(r.Tags),
		Tenant: r.Tenant, State: r.State, Hostname: r.Hostname, RegisteredAt: r.RegisteredAt,
	}
	if r.State == StateDeleted {
		s.Status = string(infra.StatusDeleted)
		return s, nil
	}
	if r.Joined != nil {
		return s, nil // its record is all there is
	}
	found, err := m.lookUp(ctx, r.InstanceID, r.ProviderInstanceID)
	switch {
	case infra.IsNotFound(err) && r.State == StatePending:
		s.Status = string(infra.StatusPending)
	case infra.IsNotFound(err):
		s.Status = string(infra.StatusDeleted)
	case err != nil:
		return nil, fmt.Errorf("status of instance %s: %w", instanceID, err)
	default:
		s.Status = string(found.Status)
		set(&s.ProviderInstanceID, found.ProviderInstanceID)
		if r.RegisteredAt == nil {
			set(&s.PrivateIPv4, found.PrivateIPv4)
			set(&s.PrivateIPv6, found.PrivateIPv6)
			set(&s.Hostname, found.Hostname)
		}
		m.seen(ctx, found)
	}
	return s, nil
}
