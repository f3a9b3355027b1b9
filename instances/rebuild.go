package instances

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/localdb"
)

// stored is a record as it was read.
type stored struct {
	record *InstanceRecord
	tag    string
}

// records reads all records there are, many at once. It is all of them or an error: one
// that cannot be read is never taken for one that is not there.
func (m *Manager) records(ctx context.Context) ([]stored, error) {
	listed, err := m.objects.List(ctx, instancePrefix)
	if err != nil {
		return nil, fmt.Errorf("list instance records: %w", err)
	}
	all := make([]stored, len(listed))
	group, ctx := errgroup.WithContext(ctx)
	next := make(chan int)
	group.Go(func() error {
		defer close(next)
		for i := range listed {
			select {
			case next <- i:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range min(m.opts.Readers, max(len(listed), 1)) {
		group.Go(func() error {
			for i := range next {
				r, tag, err := m.readKey(ctx, listed[i].Key)
				if errors.Is(err, ErrInstanceNotFound) {
					continue // it went since the list was made
				}
				if err != nil {
					return err
				}
				all[i] = stored{r, tag}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s stored) bool { return s.record == nil })
	return all, oneEach(all)
}

// oneEach refuses two records of one instance: nobody knows whose the machine is.
func oneEach(all []stored) error {
	of := make(map[string]string, len(all))
	for _, s := range all {
		if other, ok := of[s.record.InstanceID]; ok {
			return fmt.Errorf("%w: instance %s has one of tenant %s and one of tenant %s", ErrRecord, s.record.InstanceID, other, s.record.Tenant)
		}
		of[s.record.InstanceID] = s.record.Tenant
	}
	return nil
}

// RebuildCache fills the cache anew from all records, and from what the provider lists
// of their machines; what only the cache had and is measured again, such as health,
// stays. Whoever begins to lead calls it before anything else.
//
// A record that cannot be read is an error, and the cache stays as it was. What the
// provider does not list changes nothing, and one that cannot be asked is logged.
func (m *Manager) RebuildCache(ctx context.Context) error {
	m.cacheGate.Lock()
	defer m.cacheGate.Unlock()
	all, err := m.records(ctx)
	if err != nil {
		return fmt.Errorf("rebuild the cache of instances: %w", err)
	}
	if err := m.RefreshDenied(ctx); err != nil {
		return fmt.Errorf("rebuild the cache of instances: %w", err)
	}
	machines, err := infra.ListAll(ctx, m.opts.Provider, m.owner)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("rebuild the cache of instances: %w", err)
		}
		m.opts.Logger.WarnContext(ctx, "the provider could not be asked for its machines; the cache has what the records say", "error", err)
		machines = nil
	}
	before, err := m.cachedBefore(ctx)
	if err != nil {
		return fmt.Errorf("rebuild the cache of instances: %w", err)
	}
	rows := make([]localdb.Instance, len(all))
	at := make(map[string]*localdb.Instance, len(all))
	for i, s := range all {
		rows[i] = cached(s.record, s.tag)
		at[s.record.InstanceID] = &rows[i]
	}
	for i := range before {
		if row := at[before[i].ID]; row != nil && row.Tenant == before[i].Tenant && row.Group == before[i].Group {
			carry(row, &before[i])
		}
	}
	for i := range machines {
		if row := at[machines[i].InstanceID]; row != nil && row.Group != JoinedGroup {
			tell(row, &machines[i])
		}
	}
	err = m.opts.LocalDB.ReplaceInstances(ctx, rows)
	if errors.Is(err, localdb.ErrLost) {
		if err = m.renewCache(ctx, err); err == nil {
			err = m.opts.LocalDB.ReplaceInstances(ctx, rows)
		}
	}
	if err != nil {
		return fmt.Errorf("rebuild the cache of instances: %w", err)
	}
	m.cacheLost.Store(false)
	return nil
}

// cachedBefore is what the cache has. One whose file is lost is begun anew, and has nothing.
func (m *Manager) cachedBefore(ctx context.Context) ([]localdb.Instance, error) {
	before, err := m.opts.LocalDB.Instances(ctx, localdb.Query{Deleted: localdb.WithDeleted})
	if errors.Is(err, localdb.ErrLost) {
		return nil, m.renewCache(ctx, err)
	}
	return before, err
}

func (m *Manager) renewCache(ctx context.Context, why error) error {
	m.opts.Logger.WarnContext(ctx, "the file of the cache of instances is lost, and is begun anew", "error", why)
	return m.opts.LocalDB.Renew(ctx)
}

// carry keeps what no record has.
func carry(to, from *localdb.Instance) {
	to.FQDN, to.ProviderState = from.FQDN, from.ProviderState
	to.HealthAt, to.Health = from.HealthAt, from.Health
	to.CertificatesAt = from.CertificatesAt
	to.DrainStartedAt, to.DrainAckedAt = from.DrainStartedAt, from.DrainAckedAt
}

// tell takes in what the provider lists; what a record says goes first.
func tell(row *localdb.Instance, machine *infra.Instance) {
	if row.ProviderID != "" && row.ProviderID != machine.ProviderInstanceID {
		return
	}
	row.ProviderID = machine.ProviderInstanceID
	if row.ProviderAt.IsZero() {
		row.ProviderAt = machine.LaunchedAt.UTC()
	}
	row.ProviderState = providerState(machine)
	for _, one := range []struct {
		to    *string
		value string
	}{{&row.IPv4, machine.PrivateIPv4}, {&row.IPv6, machine.PrivateIPv6}, {&row.Hostname, machine.Hostname}} {
		if *one.to == "" {
			*one.to = strings.Clone(one.value)
		}
	}
}
