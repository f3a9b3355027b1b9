package instances

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/localdb"
)

// cacheTimeout bounds one write to the cache.
const cacheTimeout = 10 * time.Second

// cache keeps a record in the cache. The cache is no truth: a failure is logged, and
// the next rebuild puts it right.
func (m *Manager) cache(ctx context.Context, r *InstanceRecord, tag string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cacheTimeout)
	defer cancel()
	m.cacheGate.RLock()
	defer m.cacheGate.RUnlock()
	err := m.opts.LocalDB.SaveInstance(ctx, cached(r, tag))
	if errors.Is(err, localdb.ErrStale) {
		err = nil // another writer was later, and kept the newer one
	}
	if err == nil && r.State == StateDeleted && r.DeletedAt != nil {
		err = m.opts.LocalDB.DeleteInstance(ctx, r.InstanceID, *r.DeletedAt)
	}
	if err != nil {
		m.cacheFailed(ctx, r.InstanceID, err)
	}
}

// cacheFailed tells of a failure of the cache. A file that is lost is told of once: it
// fails for everybody until Collect has it begun anew.
func (m *Manager) cacheFailed(ctx context.Context, instanceID string, err error) {
	if errors.Is(err, localdb.ErrLost) && m.cacheLost.Swap(true) {
		return
	}
	m.opts.Logger.WarnContext(ctx, "the cache of instances was not brought up to date", "instance", instanceID, "error", err)
}

// cached is what the cache keeps of a record.
func cached(r *InstanceRecord, tag string) localdb.Instance {
	return localdb.Instance{
		ID: r.InstanceID, Tenant: r.Tenant, Group: r.Group, OnDemand: r.OnDemand,
		Template: r.Template, InstanceType: r.InstanceType, Status: r.Status,
		ProviderID: r.ProviderInstanceID, ProviderAt: moment(r.LaunchedAt),
		Hostname: r.Hostname, IPv4: r.PrivateIPv4, IPv6: r.PrivateIPv6,
		NonceHash: r.RegistrationJWT, IssuedAt: r.CreatedAt,
		PublicKey: r.PublicKeyPEM, RegisteredAt: moment(r.RegisteredAt),
		CertSerial: r.CertSerial, CertExpiresAt: moment(r.CertExpiresAt),
		RuntimeConfigHash: r.RuntimeConfigHash, InfraConfigHash: r.InfraConfigHash,
		Tags: r.Tags, RecordVersion: r.Version, RecordTag: tag,
		CreatedAt: r.CreatedAt, UpdatedAt: r.LastUpdated, DeletedAt: moment(r.DeletedAt),
	}
}

func moment(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// providerState is what is cached of a provider's answer.
func providerState(i *infra.Instance) json.RawMessage {
	raw, err := json.Marshal(map[string]string{"status": string(i.Status)})
	if err != nil {
		return nil
	}
	return raw
}

// seen keeps what the provider says of an instance in the cache.
func (m *Manager) seen(ctx context.Context, i *infra.Instance) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cacheTimeout)
	defer cancel()
	m.cacheGate.RLock()
	defer m.cacheGate.RUnlock()
	if err := m.opts.LocalDB.SetProviderState(ctx, i.InstanceID, providerState(i)); err != nil && !errors.Is(err, localdb.ErrNotFound) {
		m.cacheFailed(ctx, i.InstanceID, err)
	}
}
