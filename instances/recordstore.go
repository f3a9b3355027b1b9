package instances

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/instances/storage"
)

// casAttempts bounds how often a change is tried against other writers.
const casAttempts = 10

// term is the leader's, or ErrNotLeader. It is asked before every effect.
func (m *Manager) term() (uint64, error) {
	if m.opts.Term == nil {
		return 0, nil
	}
	term, ok := m.opts.Term.Term()
	if !ok {
		return 0, ErrNotLeader
	}
	return term, nil
}

// read is a record and its tag. ErrInstanceNotFound is the store's own word.
func (m *Manager) read(ctx context.Context, tenant, instanceID string) (*InstanceRecord, string, error) {
	key, err := recordKey(tenant, instanceID)
	if err != nil {
		return nil, "", err
	}
	return m.readKey(ctx, key)
}

func (m *Manager) readKey(ctx context.Context, key string) (*InstanceRecord, string, error) {
	data, tag, err := m.objects.Get(ctx, key)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, "", ErrInstanceNotFound
	}
	if err != nil {
		return nil, "", fmt.Errorf("read an instance record: %w", err)
	}
	r, err := parseRecord(key, data)
	return r, tag, err
}

// begin writes a record for the first time.
func (m *Manager) begin(ctx context.Context, r *InstanceRecord) error {
	term, err := m.term()
	if err != nil {
		return err
	}
	r.Schema, r.Version, r.Term, r.LastUpdated = recordSchema, 1, term, m.now()
	tag, err := m.put(ctx, r, "")
	if errors.Is(err, storage.ErrPrecondition) {
		return ErrExists
	}
	if err != nil {
		return err
	}
	m.cache(ctx, r, tag)
	return nil
}

func (m *Manager) put(ctx context.Context, r *InstanceRecord, tag string) (string, error) {
	key, err := recordKey(r.Tenant, r.InstanceID)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("write instance record %s: %w", r.InstanceID, err)
	}
	m.cacheGate.RLock()
	defer m.cacheGate.RUnlock()
	tag, err = m.objects.PutIfMatch(ctx, key, data, tag)
	if err != nil {
		return "", fmt.Errorf("write instance record %s: %w", r.InstanceID, err)
	}
	return tag, nil
}

// update changes a record by condition. change gets the newest one, may refuse, and is
// called again when another writer was faster; it says whether there is anything to
// write. What comes back is the record as it is in the store.
func (m *Manager) update(ctx context.Context, tenant, instanceID string, change func(*InstanceRecord) (bool, error)) (*InstanceRecord, error) {
	for range casAttempts {
		before, tag, err := m.read(ctx, tenant, instanceID)
		if err != nil {
			return nil, err
		}
		term, err := m.term()
		if err != nil {
			return nil, err
		}
		if before.Term > term {
			return nil, fmt.Errorf("%w: instance %s was written in term %d, this is term %d", ErrNotLeader, instanceID, before.Term, term)
		}
		after := before.clone()
		changed, err := change(after)
		if err != nil {
			return before, err
		}
		if !changed {
			return before, nil
		}
		now := m.now()
		after.Certificates = slices.DeleteFunc(after.Certificates, func(c IssuedCertificate) bool { return !now.Before(c.ExpiresAt.Add(m.skew())) })
		after.Schema, after.Version, after.Term, after.LastUpdated = recordSchema, before.Version+1, term, now
		if err := before.keeps(after); err != nil {
			return before, err
		}
		tag, err = m.put(ctx, after, tag)
		if errors.Is(err, storage.ErrPrecondition) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m.cache(ctx, after, tag)
		return after, nil
	}
	return nil, fmt.Errorf("%w: instance %s", ErrContended, instanceID)
}
