package dockerprovider

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

// Deploy implements provider.Provider.
func (d *Driver) Deploy(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
	if err := d.checkDeploy(req); err != nil {
		return nil, err
	}
	req.Services = cloneDeploys(req.Services)
	release, err := d.lock(ctx, req.InstanceID)
	if err != nil {
		return nil, err
	}
	defer release()
	w, err := d.mustLoad(ctx, req.InstanceID)
	if err != nil {
		return nil, err
	}
	if known, ok := w.Release(req.ReleaseID); ok {
		err = d.deployed(ctx, w, known, req)
	} else {
		w, err = d.deploy(ctx, w, req)
	}
	if err != nil {
		return nil, err
	}
	if err := d.begin(ctx, w); err != nil {
		return nil, err
	}
	return d.deployResult(ctx, req)
}

func (d *Driver) checkDeploy(req provider.DeployRequest) error {
	if err := req.Validate(); err != nil {
		return err
	}
	if err := translate.RefuseStrategy(req.Strategy); err != nil {
		return err
	}
	return d.limits.RefuseDeploys(req.Services)
}

// cloneDeploys copies the requests, whose config files are about to change.
func cloneDeploys(services []provider.ServiceDeploySpec) []provider.ServiceDeploySpec {
	out := slices.Clone(services)
	for i := range out {
		out[i].ConfigFiles = slices.Clone(out[i].ConfigFiles)
	}
	return out
}

// deployed is nil when the release was asked for in the same words.
func (d *Driver) deployed(ctx context.Context, w *records.Workload, known records.Release, req provider.DeployRequest) error {
	c := contents{d, w.Tenant, w.ID}
	for i := range req.Services {
		if err := c.compare(ctx, req.Services[i].Name, req.Services[i].ConfigFiles, known.Accepted); err != nil {
			return err
		}
	}
	print, err := fingerprint(req.Services)
	if err != nil {
		return err
	}
	if print != known.Accepted.Fingerprint {
		return fmt.Errorf("%w: release %s of instance %s has other services", provider.ErrConflict, req.ReleaseID, w.ID)
	}
	return nil
}

// deploy records a new release.
func (d *Driver) deploy(ctx context.Context, w *records.Workload, req provider.DeployRequest) (*records.Workload, error) {
	if busy(w) {
		return nil, fmt.Errorf("%w: instance %s is on its way to release %s", provider.ErrBusy, w.ID, w.Wanted().Release)
	}
	base := base(w)
	if _, err := d.merge(w, base, req.Services); err != nil {
		return nil, err // before anything is kept
	}
	c := contents{d, w.Tenant, w.ID}
	var accepted records.Accepted
	for i := range req.Services {
		if err := c.store(ctx, req.Services[i].Name, req.Services[i].ConfigFiles, &accepted); err != nil {
			return nil, err
		}
	}
	var err error
	if accepted.Fingerprint, err = fingerprint(req.Services); err != nil {
		return nil, err
	}
	services, err := d.merge(w, base, req.Services)
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	for _, s := range req.Services {
		listed[s.Name] = true
	}
	versions, err := c.versions(ctx, services)
	if err != nil {
		return nil, err
	}
	for _, s := range services {
		if !listed[s.Name] {
			versions[s.Name] = base.Versions[s.Name] // it stays as it is
		}
	}
	w, err = d.records.Change(ctx, w.ID, func(w *records.Workload) error {
		now := d.now()
		images := w.PlannedRelease(base.Planned)
		stopped := w.Desired.Stopped
		if req.Rollout != nil {
			w.Bounds = req.Rollout
		}
		w.LastRevision++
		w.Target = w.LastRevision
		w.Releases = append(w.Releases, records.Release{ID: req.ReleaseID, Accepted: accepted})
		w.Revisions = append(w.Revisions, records.Revision{
			Number: w.LastRevision, Release: req.ReleaseID, Services: services, Versions: versions,
			Replicas: translate.Replicas(services), Strategy: req.Strategy, CreatedAt: now,
		})
		return d.desire(w, intent{
			rev: w.Wanted(), kind: store.AttemptApply, action: actionUpdate, stopped: stopped,
			images: images, pinned: func(service string) bool { return !listed[service] },
			anew: annotated(base.Services, services),
		}, now)
	})
	return w, failed("deploy", err)
}

// busy reports whether another release is on its way.
func busy(w *records.Workload) bool {
	serving := w.Serving()
	return w.RollingOut() && !w.Desired.Stopped && (serving == nil || serving.Release != w.Wanted().Release)
}

// base is what a deploy changes: what serves, since a release that failed is
// none to build on, and before anything served what was asked for.
func base(w *records.Workload) *records.Revision {
	if serving := w.Serving(); serving != nil {
		return serving
	}
	return w.Wanted()
}

// merge is the services with the deploy in force, as far as they can be had.
func (d *Driver) merge(w *records.Workload, base *records.Revision, deploys []provider.ServiceDeploySpec) ([]provider.ServiceSpec, error) {
	services, err := provider.ApplyDeploy(w.Kind, base.Services, deploys)
	if err != nil {
		return nil, err
	}
	if err := d.limits.Refuse(services); err != nil {
		return nil, err
	}
	return services, checkValues(w.Tenant, services)
}

// annotated reports whether a container shall have other labels, for which the
// planner alone makes no new one.
func annotated(before, after []provider.ServiceSpec) bool {
	for i := range after {
		if !maps.Equal(before[i].Annotations, after[i].Annotations) {
			return true
		}
	}
	return false
}

func (d *Driver) deployResult(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
	st, err := d.Status(ctx, req.InstanceID)
	if err != nil {
		return nil, err
	}
	res := &provider.DeployResult{ProviderRef: ref(req.InstanceID), Status: provider.DeployAccepted, Endpoints: st.Endpoints}
	if st.Ready && st.ReleaseID == req.ReleaseID {
		res.Status = provider.DeploySucceeded
	}
	return res, nil
}

// Rollback implements provider.Provider. A rollout that is under way is over
// with it. The number of replicas belongs to the workload and stays, where the
// release can be had in that many.
func (d *Driver) Rollback(ctx context.Context, workload, releaseID id.ID) error {
	release, err := d.lock(ctx, workload)
	if err != nil {
		return err
	}
	defer release()
	w, err := d.mustLoad(ctx, workload)
	if err != nil {
		return err
	}
	if releaseID.IsNil() {
		if releaseID = before(w); releaseID.IsNil() {
			return fmt.Errorf("instance %s has no release that served before: %w", workload, provider.ErrNotFound)
		}
	}
	to := w.LastServed(releaseID)
	switch {
	case to == nil && w.Has(releaseID):
		return fmt.Errorf("release %s of instance %s never served: %w", releaseID, workload, provider.ErrConflict)
	case to == nil:
		return fmt.Errorf("instance %s has no release %s: %w", workload, releaseID, provider.ErrNotFound)
	}
	if to.Number == w.Target && !w.RolloutFailed() {
		return d.begin(ctx, w)
	}
	w, err = d.records.Change(ctx, workload, func(w *records.Workload) error {
		to := w.LastServed(releaseID)
		if to == nil {
			return fmt.Errorf("release %s: %w", releaseID, provider.ErrNotFound)
		}
		present, _ := course(w)
		repeat(w.Kind, to, present.Replicas)
		w.Target = to.Number
		return d.desire(w, intent{
			rev: to, kind: store.AttemptRollback, action: actionUpdate, pin: to.Planned, stopped: w.Desired.Stopped,
		}, d.now())
	})
	if err != nil {
		return failed("roll back", err)
	}
	return d.begin(ctx, w)
}

// repeat gives a revision another number of groups, unless its volumes have too
// few writers for that.
func repeat(kind provider.WorkloadKind, rev *records.Revision, replicas int) {
	services, _, moved := sized(rev, provider.ResourceSpec{Replicas: replicas})
	if !moved {
		return
	}
	if _, err := provider.ApplyDeploy(kind, services, nil); err != nil {
		return
	}
	rev.Services, rev.Replicas = services, replicas
}

// before is the release that served before the wanted one: as long as that does
// not serve itself, the one that does.
func before(w *records.Workload) id.ID {
	if serving := w.Serving(); serving != nil && serving.Number != w.Target {
		return serving.Release
	}
	return w.Before(w.Wanted().Release)
}
