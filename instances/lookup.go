package instances

import (
	"context"
	"fmt"
)

// Record is what the store has of an instance of a tenant: nobody else is asked. It is
// the caller's own. Errors: ErrInstanceNotFound, ErrRecord.
func (m *Manager) Record(ctx context.Context, tenant, instanceID string) (*InstanceRecord, error) {
	r, _, err := m.read(ctx, tenant, instanceID)
	if err != nil {
		return nil, fmt.Errorf("record of instance %s: %w", clip(instanceID), err)
	}
	return r, nil
}

// LastTerm is the greatest term that any record was written in. A leader's term is above
// it, also when whatever else counted the terms is lost.
func (m *Manager) LastTerm(ctx context.Context) (uint64, error) {
	all, err := m.records(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for the last term: %w", err)
	}
	var last uint64
	for _, s := range all {
		last = max(last, s.record.Term)
	}
	return last, nil
}
