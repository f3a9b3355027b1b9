package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Deploy implements provider.Provider.
func (p *Provider) Deploy(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
	if err := p.deploy(ctx, req); err != nil {
		return nil, fmt.Errorf("deploy instance %s: %w", req.InstanceID, err)
	}
	if err := p.advance(ctx, req.InstanceID); err != nil {
		return nil, fmt.Errorf("deploy instance %s: %w", req.InstanceID, err)
	}
	st, err := p.Status(ctx, req.InstanceID)
	if err != nil {
		return nil, fmt.Errorf("deploy instance %s: %w", req.InstanceID, err)
	}
	res := &provider.DeployResult{ProviderRef: ref(req.InstanceID), Status: provider.DeployAccepted}
	if st.ReleaseID == req.ReleaseID && st.Ready {
		res.Status, res.Endpoints = provider.DeploySucceeded, st.Endpoints
	}
	return res, nil
}

func (p *Provider) deploy(ctx context.Context, req provider.DeployRequest) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !p.can(provider.CapDeploy) {
		return fmt.Errorf("%w: deploy", provider.ErrNotSupported)
	}
	if err := req.Validate(); err != nil {
		return err
	}
	for strategy, c := range map[string]provider.Capability{
		provider.StrategyBlueGreen: provider.CapBlueGreen, provider.StrategyRolling: provider.CapRolling, provider.StrategyCanary: provider.CapCanary,
	} {
		if req.Strategy == strategy && !p.can(c) {
			return fmt.Errorf("%w: strategy %s", provider.ErrNotSupported, strategy)
		}
	}
	unlock, err := p.lock(ctx, req.InstanceID)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := p.known(ctx, req.InstanceID)
	if err != nil {
		return err
	}
	next, contents, err := p.next(rec, req)
	if err != nil {
		return err
	}
	if old := rec.release(req.ReleaseID); old != nil {
		return p.redeploy(ctx, rec, old, next, contents)
	}
	switch {
	case rec.Removing:
		return fmt.Errorf("%w: it is being removed", provider.ErrConflict)
	case rec.Stopped:
		return fmt.Errorf("%w: it is stopped; start it first", provider.ErrConflict)
	case rec.rolling():
		return fmt.Errorf("%w: release %s", provider.ErrBusy, rec.Target)
	}
	services := next.Services
	if m := mainOf(services); m.Resources.Replicas > 0 {
		for _, d := range req.Services {
			if d.Name == m.Name && d.Resources != nil && d.Resources.Replicas > 0 {
				rec.Replicas = d.Resources.Replicas
			}
		}
	}
	rec.Releases = append(rec.Releases, next)
	rec.prune()
	rec.begin(next.ID, req.Strategy)
	rec.Since = p.cluster.now()
	if req.Rollout != nil {
		rec.Rollout = req.Rollout
	}
	if err := p.save(ctx, rec); err != nil {
		return err
	}
	p.log.InfoContext(ctx, "release is wanted", "instance", req.InstanceID, "release", req.ReleaseID)
	return p.keep(ctx, rec.Request.TenantID, contents)
}

// maxReleases is how many releases an instance remembers.
const maxReleases = 20

// prune forgets the oldest releases that nothing needs.
func (r *record) prune() {
	for len(r.Releases) > maxReleases {
		base := r.Serving
		if base.IsNil() {
			base = r.Releases[0].ID
		}
		n := slices.IndexFunc(r.Releases, func(rel *release) bool { return rel.ID != base && rel.ID != r.Target })
		gone := r.Releases[n].ID
		r.Releases = slices.Delete(r.Releases, n, n+1)
		r.Served = slices.DeleteFunc(r.Served, func(o id.ID) bool { return o == gone })
		delete(r.Sizes, gone.String())
	}
}

// begin makes a release the one that is asked for.
func (r *record) begin(release id.ID, strategy string) {
	r.Turns++
	r.Target, r.Turn, r.Strategy, r.Failure = release, r.Turns, strategy, nil
}

// next is the release that a deploy makes on top of the one that serves.
func (p *Provider) next(rec *record, req provider.DeployRequest) (*release, map[string]string, error) {
	base := rec.Serving
	if base.IsNil() {
		base = rec.Releases[0].ID
	}
	deploys, all := make([]provider.ServiceDeploySpec, len(req.Services)), map[string]string{}
	for i, d := range req.Services {
		files, contents := stash(req.InstanceID, req.ReleaseID, d.Name, d.ConfigFiles)
		d.ConfigFiles = files
		deploys[i] = provider.ServiceSnapshot(d).DeploySpec()
		maps.Copy(all, contents)
	}
	services := rec.services(base)
	mainOf(services).Resources.Replicas = rec.Replicas
	services, err := provider.ApplyDeploy(rec.Request.Kind, services, deploys)
	if err != nil {
		return nil, nil, err
	}
	if err := p.supports(rec.Request.TenantID, services); err != nil {
		return nil, nil, err
	}
	if (req.Strategy == provider.StrategyBlueGreen || req.Strategy == provider.StrategyRolling) && exclusive(services) {
		return nil, nil, fmt.Errorf("%w: strategy %s would have two containers hold what only one may", provider.ErrInvalid, req.Strategy)
	}
	return &release{ID: req.ReleaseID, Services: services, Request: deploys}, all, nil
}

// exclusive reports whether two groups cannot run at one time: for a volume that one
// may write, or for a port of the host.
func exclusive(services []provider.ServiceSpec) bool {
	for _, s := range services {
		if slices.ContainsFunc(s.Volumes, func(v provider.VolumeSpec) bool { return !v.Shared && !v.ReadOnly }) ||
			slices.ContainsFunc(s.Ports, func(port provider.PortSpec) bool { return port.Host != 0 }) {
			return true
		}
	}
	return false
}

// redeploy is a Deploy under the id of a release that is there.
func (p *Provider) redeploy(ctx context.Context, rec *record, old, next *release, contents map[string]string) error {
	same, err := p.sameContents(ctx, rec.Request.TenantID, contents)
	if err != nil {
		return err
	}
	if !same || old.Request == nil || !equal(old.Request, next.Request) {
		return fmt.Errorf("%w: release %s was made by another request", provider.ErrConflict, old.ID)
	}
	if err := p.keep(ctx, rec.Request.TenantID, contents); err != nil {
		return err
	}
	if rec.Target != old.ID {
		return nil
	}
	return p.afresh(ctx, rec)
}

// Rollback implements provider.Provider.
func (p *Provider) Rollback(ctx context.Context, instance, release id.ID) error {
	if err := p.rollback(ctx, instance, release); err != nil {
		return fmt.Errorf("roll back instance %s: %w", instance, err)
	}
	return p.advance(ctx, instance)
}

func (p *Provider) rollback(ctx context.Context, instance, release id.ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !p.can(provider.CapDeploy) {
		return fmt.Errorf("%w: rollback", provider.ErrNotSupported)
	}
	unlock, err := p.lock(ctx, instance)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := p.known(ctx, instance)
	if err != nil {
		return err
	}
	if release.IsNil() {
		if release, err = rec.before(); err != nil {
			return err
		}
	}
	rel := rec.release(release)
	switch {
	case rel == nil:
		return fmt.Errorf("%w: release %s", provider.ErrNotFound, release)
	case rel.ID == rec.Target && rec.Failure == nil:
		return nil
	case rec.rolling():
		return fmt.Errorf("%w: release %s", provider.ErrBusy, rec.Target)
	case !rel.Good:
		return fmt.Errorf("%w: release %s never served", provider.ErrConflict, release)
	}
	if rel.ID == rec.Serving {
		rec.Target, rec.Turn, rec.Failure = rec.Serving, rec.ServingTurn, nil
	} else {
		rec.fit(rel.ID)
		rec.begin(rel.ID, "")
		rec.Since = p.cluster.now()
		delete(rec.Sizes, rel.ID.String())
	}
	p.log.InfoContext(ctx, "release is wanted again", "instance", instance, "release", release)
	return p.save(ctx, rec)
}

// before is the release that served last before the wanted one: as long as that
// does not serve itself, the one that does.
func (r *record) before() (id.ID, error) {
	if !r.Serving.IsNil() && r.Serving != r.Target {
		return r.Serving, nil
	}
	for _, release := range slices.Backward(r.Served) {
		if release != r.Serving {
			return release, nil
		}
	}
	return id.Nil, fmt.Errorf("%w: no release served before the present one", provider.ErrNotFound)
}
