package rollout

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Deploy makes a release of what the request lists on top of the release that last
// succeeded, and begins its rollout. It is checked before anything is written:
// the request, the strategy, the provider and what it can do, and that the instance is
// there and not stopped.
//
// Content that the workload already has a release of gets no new one; the provider
// still knows this rollout of it as ReleaseID, see Release.Ref. While
// another rollout is under way it is a BusyError. The same ReleaseID with the same
// services returns the rollout that they began, also when that has ended; with others
// it is provider.ErrConflict. Without a ReleaseID every call is a request of its own.
//
// The error is that of the rollout when it ended badly before Deploy returned;
// the Result is there then too.
func (m *Manager) Deploy(ctx context.Context, req provider.DeployRequest, with With) (*Result, error) {
	if req.ReleaseID.IsNil() {
		req.ReleaseID = m.opts.NewID(id.KindRelease)
	}
	if err := req.Validate(); err != nil {
		return nil, err
	}
	if err := with.validate(); err != nil {
		return nil, err
	}
	rec, _, err := m.load(ctx, req.InstanceID)
	if err != nil {
		return nil, err
	}
	st := m.stash(req.InstanceID, rec.Provision.TenantID)
	ro, rec, err := m.deploy(ctx, rec, req, with, st)
	st.drop(ctx, rec, m.opts.Logger)
	if err != nil {
		return nil, err
	}
	if rec.Open == ro {
		return m.follow(ctx, rec.Workload, ro, with)
	}
	return resultOf(rec, ro)
}

// deploy records the rollout of a request, or finds it.
func (m *Manager) deploy(ctx context.Context, rec *record, req provider.DeployRequest, with With, st *stash) (id.ID, *record, error) {
	services, digest, err := prepare(ctx, st, rec, req)
	if err != nil {
		return id.Nil, rec, err
	}
	if ro, err := rec.repeated(req.ReleaseID, digest); err != nil || ro != nil {
		return ro.id(), rec, err
	}
	if err := rec.idle(); err != nil {
		return id.Nil, rec, err
	}
	if _, _, err := rec.next(services); err != nil {
		return id.Nil, rec, err
	}
	if err := m.deployable(ctx, rec, req.Strategy); err != nil {
		return id.Nil, rec, err
	}
	var ro id.ID
	written, err := m.update(ctx, req.InstanceID, func(rec *record) error {
		services, digest, err := prepare(ctx, st, rec, req)
		if err != nil {
			return err
		}
		seen, err := rec.repeated(req.ReleaseID, digest)
		if err != nil {
			return err
		}
		if ro = seen.id(); seen != nil {
			return errNoChange
		}
		open, err := m.addDeploy(rec, req, services, with)
		if err != nil {
			return err
		}
		open.Request, ro = &Request{ReleaseID: req.ReleaseID, Digest: digest}, open.ID
		return nil
	})
	if written == nil {
		written = rec
	}
	return ro, written, err
}

// prepare takes the content of config files out of a request.
func prepare(ctx context.Context, st *stash, rec *record, req provider.DeployRequest) ([]provider.ServiceDeploySpec, string, error) {
	services := make([]provider.ServiceDeploySpec, len(req.Services))
	for i, d := range req.Services {
		files, err := st.files(ctx, rec, d.Name, d.ConfigFiles)
		if err != nil {
			return nil, "", err
		}
		services[i] = d
		services[i].ConfigFiles = files
	}
	digest, err := requestDigest(services)
	return services, digest, err
}

// repeated finds the rollout that a request began.
func (r *record) repeated(release id.ID, digest string) (*Rollout, error) {
	ro := r.requested(release)
	if ro != nil && ro.Request.Digest != digest {
		return nil, fmt.Errorf("%w: release %s was requested with other services", provider.ErrConflict, release)
	}
	return ro, nil
}

func (r *Rollout) id() id.ID {
	if r == nil {
		return id.Nil
	}
	return r.ID
}

// next is the content of the release that a deploy makes, and its address.
func (r *record) next(deploys []provider.ServiceDeploySpec) ([]provider.ServiceSnapshot, string, error) {
	base := r.base()
	if base == nil {
		return nil, "", fmt.Errorf("%w: it holds no release", ErrRecord)
	}
	specs := r.specs(base)
	for i := range specs {
		if r.Scaled != nil && specs[i].Name == r.main() {
			specs[i].Resources = r.size(provider.ResourceSpec{})
		}
	}
	specs, err := provider.ApplyDeploy(r.Provision.Kind, specs, deploys)
	if err != nil {
		return nil, "", err
	}
	services := snapshots(specs)
	hash, err := contentHash(services)
	return services, hash, err
}

// addDeploy adds the rollout, and the release unless its content is there.
func (m *Manager) addDeploy(rec *record, req provider.DeployRequest, deploys []provider.ServiceDeploySpec, with With) (*Rollout, error) {
	if err := rec.idle(); err != nil {
		return nil, err
	}
	services, hash, err := rec.next(deploys)
	if err != nil {
		return nil, err
	}
	rel := rec.releaseByHash(hash)
	if rec.taken(req.ReleaseID, rel) {
		return nil, fmt.Errorf("%w: release %s has other content", provider.ErrConflict, req.ReleaseID)
	}
	if rel == nil {
		rel = rec.addRelease(Release{
			ID: req.ReleaseID, Hash: hash, Services: services, CreatedAt: m.now(), Initiator: with.Initiator, Notes: with.Notes,
		})
	}
	ro := m.begin(rec, rel, KindDeploy, with)
	ro.Strategy, ro.Bounds = req.Strategy, req.Rollout
	if rel.ID == rec.Current && req.Rollout == nil {
		ro.Restore = true // nothing is new; at most something is to be put right
	} else {
		ro.Ref = req.ReleaseID
	}
	return ro, nil
}

// taken reports whether an id names another release than rel.
func (r *record) taken(release id.ID, rel *Release) bool {
	for i := range r.Releases {
		if other := &r.Releases[i]; (other.ID == release || other.Ref == release) && (rel == nil || other.ID != rel.ID) {
			return true
		}
	}
	return false
}

// strategies are the capabilities that a strategy needs beside CapDeploy.
var strategies = map[string][]provider.Capability{
	"":                         nil,
	provider.StrategyRecreate:  nil,
	provider.StrategyRolling:   {provider.CapRolling},
	provider.StrategyBlueGreen: {provider.CapBlueGreen},
	provider.StrategyCanary:    {provider.CapCanary},
}

// deployable asks the provider of a workload whether a rollout can begin.
func (m *Manager) deployable(ctx context.Context, rec *record, strategy string) error {
	_, p, err := m.providers.Resolve(rec.Provider)
	if err != nil {
		return err
	}
	if err := CheckStrategy(p, strategy); err != nil {
		return err
	}
	return m.running(ctx, rec.Provider, rec.Workload)
}

// CheckStrategy is nil when a provider can deploy by the strategy; else the error is
// provider.ErrInvalid or provider.ErrNotSupported.
func CheckStrategy(p provider.Provider, strategy string) error {
	capabilities, known := strategies[strategy]
	if !known {
		return fmt.Errorf("%w: strategy %q", provider.ErrInvalid, strategy)
	}
	return need(p, append([]provider.Capability{provider.CapDeploy}, capabilities...)...)
}

// running refuses an instance that is not there, or is stopped or on its way out.
func (m *Manager) running(ctx context.Context, key string, workload id.ID) error {
	ctx, p, err := m.providers.Acquire(ctx, key)
	if err != nil {
		return err
	}
	ctx, cancel := m.call(ctx)
	defer cancel()
	st, err := p.Status(ctx, workload)
	if err != nil {
		return fmt.Errorf("status of workload %s: %w", workload, err)
	}
	if st == nil {
		return fmt.Errorf("%w: no status of workload %s", provider.ErrUnavailable, workload)
	}
	switch st.State {
	case provider.StateStopping, provider.StateStopped, provider.StateDestroying, provider.StateDestroyed:
		return fmt.Errorf("%w: workload %s is %s", provider.ErrConflict, workload, st.State)
	default:
		return nil
	}
}
