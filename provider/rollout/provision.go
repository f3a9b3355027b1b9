package rollout

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Provision records version 1 of a workload and brings it to the provider of
// that name, the default one when name is empty.
//
// The same request again is a repetition: it returns the first rollout, and tries
// anew when that one failed. Another request is provider.ErrConflict once the
// provider was given the first, and takes its place when the provider refused it.
func (m *Manager) Provision(ctx context.Context, name string, req provider.ProvisionRequest, with With) (*Result, error) {
	key, p, err := m.resolve(name)
	if err != nil {
		return nil, err
	}
	if err := need(p, provider.CapProvision); err != nil {
		return nil, err
	}
	var ro id.ID
	rec, err := m.first(ctx, req, with, func(rec *record, req provider.ProvisionRequest) (*record, error) {
		next, fresh, err := m.wantFirst(rec, key, req, with)
		if err != nil {
			return next, err
		}
		if ro = next.Open; !fresh {
			ro = next.begun()
			return next, errNoChange
		}
		return next, nil
	})
	if err != nil {
		return nil, err
	}
	if rec.Open == ro {
		return m.follow(ctx, rec.Workload, ro, with)
	}
	return resultOf(rec, ro)
}

// RecordInitial records an instance that already runs as version 1 of a workload,
// with a rollout that has succeeded, so that there is something to deploy on and to return
// to. req is the request that it was provisioned with. It changes nothing at the
// provider. The same request again is a repetition, another is provider.ErrConflict.
func (m *Manager) RecordInitial(ctx context.Context, name string, req provider.ProvisionRequest, with With) (*Result, error) {
	key, _, err := m.resolve(name)
	if err != nil {
		return nil, err
	}
	if err := m.running(ctx, key, req.InstanceID); err != nil {
		return nil, err
	}
	var ro id.ID
	rec, err := m.first(ctx, req, with, func(rec *record, req provider.ProvisionRequest) (*record, error) {
		if rec != nil {
			if err := rec.sameProvision(key, req); err != nil {
				return nil, err
			}
			ro = rec.begun()
			return rec, errNoChange
		}
		next, err := m.newRecord(key, req, with)
		if err != nil {
			return nil, err
		}
		open := m.begin(next, &next.Releases[0], KindInitial, with)
		open.Strategy, ro = StrategyInitial, open.ID
		m.succeed(next, open)
		return next, nil
	})
	if err != nil {
		return nil, err
	}
	return resultOf(rec, ro)
}

// first validates a request, takes its config files out and records what want
// makes of it.
func (m *Manager) first(ctx context.Context, req provider.ProvisionRequest, with With,
	want func(*record, provider.ProvisionRequest) (*record, error),
) (*record, error) {
	if err := req.Validate(); err != nil {
		return nil, err
	}
	if err := with.validate(); err != nil {
		return nil, err
	}
	st := m.stash(req.InstanceID, req.TenantID)
	rec, err := m.swap(ctx, req.InstanceID, func(rec *record) (*record, error) {
		req := req
		req.ReleaseID = req.InitialRelease()
		req.Services = provider.CloneServices(req.Services)
		for i, s := range req.Services {
			files, err := st.files(ctx, rec, s.Name, s.ConfigFiles)
			if err != nil {
				return nil, err
			}
			req.Services[i].ConfigFiles = files
		}
		return want(rec, req)
	})
	st.drop(ctx, rec, m.opts.Logger)
	return rec, err
}

// wantFirst decides what a Provision means on what is recorded. fresh means that
// it begins a rollout.
func (m *Manager) wantFirst(rec *record, key string, req provider.ProvisionRequest, with With) (next *record, fresh bool, err error) {
	if rec == nil {
		if next, err = m.newRecord(key, req, with); err != nil {
			return nil, false, err
		}
		m.begin(next, &next.Releases[0], KindInitial, with).Strategy = StrategyInitial
		return next, true, nil
	}
	if err := rec.sameProvision(key, req); err != nil {
		return m.replaceFirst(rec, key, req, with, err)
	}
	if !rec.Current.IsNil() || !rec.Open.IsNil() && rec.open().Kind == KindInitial {
		return rec, false, nil
	}
	if err := rec.idle(); err != nil {
		return nil, false, err
	}
	rel := rec.base()
	if rel == nil {
		return nil, false, fmt.Errorf("%w: it holds no release", ErrRecord)
	}
	m.begin(rec, rel, KindInitial, with).Strategy = StrategyInitial
	return rec, true, nil
}

// replaceFirst lets a request take the place of one that the provider refused.
func (m *Manager) replaceFirst(rec *record, key string, req provider.ProvisionRequest, with With, conflict error) (*record, bool, error) {
	if err := rec.idle(); err != nil {
		return nil, false, err
	}
	for _, ro := range rec.Rollouts {
		if !ro.Untouched {
			return nil, false, conflict
		}
	}
	rec.Provider, rec.Provision, rec.Releases = key, req, nil
	if err := m.addFirst(rec, with); err != nil {
		return nil, false, err
	}
	m.begin(rec, &rec.Releases[0], KindInitial, with).Strategy = StrategyInitial
	return rec, true, nil
}

func (m *Manager) newRecord(key string, req provider.ProvisionRequest, with With) (*record, error) {
	rec := &record{Format: format, Workload: req.InstanceID, Provider: key, Provision: req, NextVersion: 1, NextNumber: 1}
	return rec, m.addFirst(rec, with)
}

func (m *Manager) addFirst(rec *record, with With) error {
	services := snapshots(rec.Provision.Services)
	hash, err := contentHash(services)
	if err != nil {
		return err
	}
	rec.addRelease(Release{
		ID: rec.Provision.ReleaseID, Hash: hash, Services: services, CreatedAt: m.now(),
		Initiator: with.Initiator, Notes: with.Notes,
	})
	return nil
}

// sameProvision reports a request that differs from the one recorded.
func (r *record) sameProvision(key string, req provider.ProvisionRequest) error {
	if r.Removing {
		return r.idle()
	}
	have, err := provisionDigest(r.Provision)
	if err != nil {
		return err
	}
	want, err := provisionDigest(req)
	if err != nil {
		return err
	}
	if key != r.Provider {
		return fmt.Errorf("%w: workload %s is with provider %q", provider.ErrConflict, r.Workload, r.Provider)
	}
	if have != want {
		return fmt.Errorf("%w: workload %s was provisioned with another request; changes go through a deploy", provider.ErrConflict, r.Workload)
	}
	return nil
}

// begun is the rollout that stands for the first request: the newest that brought
// something to serve, and before any did the newest at all.
func (r *record) begun() id.ID {
	var found id.ID
	for _, ro := range r.Rollouts {
		if found.IsNil() || ro.State == StateSucceeded || r.Current.IsNil() {
			found = ro.ID
		}
	}
	return found
}

// resolve finds the key of a provider, which is what a record keeps.
func (m *Manager) resolve(name string) (string, provider.Provider, error) {
	if name == "" {
		return m.providers.ResolveDefault()
	}
	return m.providers.Resolve(name)
}
