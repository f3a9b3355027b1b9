package instances

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/instances/storage"
)

// DeleteInstance deletes an instance: of the tenant in the context, if WithTenant put
// one there. Without one it is for callers inside, who may delete everybody's; whoever
// passes on what others ask uses DeleteInstanceFor.
//
// nil says that the record says so, its certificates hold no more and the provider has
// begun. It is repeated, by Collect too, until GetInstanceStatus says deleted.
func (m *Manager) DeleteInstance(ctx context.Context, instanceID string) error {
	tenant, err := m.tenantOf(ctx, instanceID)
	if err != nil {
		return fmt.Errorf("delete instance %s: %w", clip(instanceID), err)
	}
	return m.DeleteInstanceFor(ctx, tenant, instanceID)
}

// DeleteInstanceFor deletes an instance of a tenant; another tenant's is
// ErrInstanceNotFound.
func (m *Manager) DeleteInstanceFor(ctx context.Context, tenant, instanceID string) error {
	return m.deleteFor(ctx, tenant, instanceID, "asked for", nil)
}

// deleteFor deletes an instance unless still says, by the newest record, that it is not
// to go after all.
func (m *Manager) deleteFor(ctx context.Context, tenant, instanceID, reason string, still func(*InstanceRecord) error) error {
	what := func(err error) error { return fmt.Errorf("delete instance %s: %w", clip(instanceID), err) }
	if _, err := m.term(); err != nil {
		return what(err)
	}
	release, err := m.busy.take(ctx, instanceID)
	if err != nil {
		return what(err)
	}
	defer release()
	r, err := m.requestDelete(ctx, tenant, instanceID, reason, still)
	if err != nil {
		return what(err)
	}
	if err := m.remove(ctx, r, false); err != nil {
		return what(err)
	}
	return nil
}

// tenantOf is the context's tenant, or that of the cache's row, or that of the only
// record there is of the instance.
func (m *Manager) tenantOf(ctx context.Context, instanceID string) (string, error) {
	if tenant, ok := TenantFrom(ctx); ok {
		return tenant, nil
	}
	storageKey, err := StorageKey(instanceID)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalidRequest, err)
	}
	row, err := m.opts.LocalDB.Instance(ctx, instanceID)
	if err == nil {
		return row.Tenant, nil
	}
	if !errors.Is(err, localdb.ErrNotFound) {
		m.cacheFailed(ctx, instanceID, err)
	}
	all, err := m.objects.List(ctx, instancePrefix)
	if err != nil {
		return "", fmt.Errorf("look for the tenant of an instance: %w", err)
	}
	for _, object := range all {
		if tenant, found, err := parseRecordKey(object.Key); err == nil && found == instanceID {
			return tenant, nil
		}
	}
	return "", fmt.Errorf("%w: %s", ErrInstanceNotFound, storageKey)
}

// requestDelete makes the record say that the machine has to go.
func (m *Manager) requestDelete(ctx context.Context, tenant, instanceID, reason string, still func(*InstanceRecord) error) (*InstanceRecord, error) {
	return m.update(ctx, tenant, instanceID, func(r *InstanceRecord) (bool, error) {
		if r.State.Leaving() {
			return false, nil
		}
		if still != nil {
			if err := still(r); err != nil {
				return false, err
			}
		}
		now := m.now()
		r.DeleteRequestedAt, r.DeleteReason = &now, reason
		r.Status = string(infra.StatusDeleting)
		r.setState(StateDeleting)
		return true, nil
	})
}

// remove does what is left of a deletion: it denies the certificates, has the provider
// remove the machine, and closes the record when the provider says that it is gone.
// The instance is taken.
//
// While a create may still be on its way, that nothing is there closes no record,
// unless nothing says that this cannot be.
func (m *Manager) remove(ctx context.Context, r *InstanceRecord, nothing bool) error {
	if r.State == StateDeleted {
		return nil
	}
	if err := m.denyAll(ctx, r); err != nil {
		return err
	}
	gone, err := m.removeMachine(ctx, r)
	if err != nil || !gone {
		return err
	}
	if r.ProviderInstanceID == "" && !nothing && m.now().Before(r.LaunchDeadline) {
		return nil
	}
	_, err = m.update(ctx, r.Tenant, r.InstanceID, func(r *InstanceRecord) (bool, error) {
		if r.State == StateDeleted {
			return false, nil
		}
		now := m.now()
		r.DeletedAt, r.Status = &now, string(infra.StatusDeleted)
		r.setState(StateDeleted)
		return true, nil
	})
	return err
}

// removeMachine says whether the provider says that there is no machine of a record
// that is to go. A machine that another request made is not the record's.
func (m *Manager) removeMachine(ctx context.Context, r *InstanceRecord) (gone bool, err error) {
	if r.Joined != nil {
		return true, nil // nobody made it, and nobody but its operator ends it
	}
	found, err := m.lookUp(ctx, r.InstanceID, r.ProviderInstanceID)
	switch {
	case infra.IsNotFound(err), err == nil && found.Status.Gone():
		return true, nil
	case err != nil:
		return false, err
	case !isOf(found, r.Intent.Digest):
		m.opts.Logger.WarnContext(ctx, "a machine with the id of an instance was made by another request; it is left alone",
			"instance", r.InstanceID, "machine", found.ProviderInstanceID)
		return true, nil
	}
	if _, err := m.term(); err != nil {
		return false, err
	}
	call, cancel := context.WithTimeout(ctx, m.conf().Shard.Timings.RequestTimeout.Std())
	defer cancel()
	if err := m.opts.Provider.DeleteInstance(call, r.InstanceID, found.ProviderInstanceID); err != nil && !infra.IsNotFound(err) {
		return false, err
	}
	found, err = m.lookUp(ctx, r.InstanceID, found.ProviderInstanceID)
	return infra.IsNotFound(err) || err == nil && found.Status.Gone(), nil
}

// forget removes a record whose retention is over, and what belongs to it: the claim of
// its token first, so that the record keeps the token closed until the end.
func (m *Manager) forget(ctx context.Context, r *InstanceRecord, tag string) error {
	if _, err := m.term(); err != nil {
		return err
	}
	if err := m.objects.Delete(ctx, claimKey(r.RegistrationJWT)); err != nil {
		return err
	}
	key, err := recordKey(r.Tenant, r.InstanceID)
	if err != nil {
		return err
	}
	err = m.objects.DeleteIfMatch(ctx, key, tag)
	if errors.Is(err, storage.ErrPrecondition) {
		return nil // somebody wrote it; the next pass looks again
	}
	return err
}

// serials are all that an instance's certificates may have.
func serials(r *InstanceRecord, c *claim) []IssuedCertificate {
	all := slices.Clone(r.Certificates)
	add := func(serial string, one IssuedCertificate) {
		if serial != "" && !slices.ContainsFunc(all, func(c IssuedCertificate) bool { return c.Serial == serial }) {
			all = append(all, one)
		}
	}
	if r.CertExpiresAt != nil {
		add(r.CertSerial, IssuedCertificate{r.CertSerial, *r.CertExpiresAt})
	}
	if c != nil {
		add(c.Serial, IssuedCertificate{c.Serial, c.ExpiresAt})
	}
	return all
}
