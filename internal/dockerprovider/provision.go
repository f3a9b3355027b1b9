package dockerprovider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// Provision implements provider.Provider.
func (d *Driver) Provision(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
	req = normal(req)
	if err := d.checkProvision(req); err != nil {
		return nil, err
	}
	release, err := d.lock(ctx, req.InstanceID)
	if err != nil {
		return nil, err
	}
	defer release()
	w, err := d.load(ctx, req.InstanceID)
	if err != nil {
		return nil, err
	}
	if w == nil {
		w, err = d.accept(ctx, req)
	} else if err = d.repeated(ctx, w, req); err == nil && hopeless(w) {
		w, err = d.retry(ctx, w)
	}
	if err != nil {
		return nil, err
	}
	if err := d.begin(ctx, w); err != nil {
		return nil, err
	}
	return d.provisioned(ctx, w)
}

// normal is the request with what its defaults mean filled in, sharing nothing
// with it.
func normal(req provider.ProvisionRequest) provider.ProvisionRequest {
	req.Services = provider.CloneServices(req.Services)
	for i := range req.Services {
		req.Services[i].Role = req.Services[i].EffectiveRole()
	}
	if req.Kind == "" {
		req.Kind = provider.KindDeployment
	}
	if !req.InstanceID.IsNil() {
		req.ReleaseID = req.InitialRelease()
	}
	return req
}

// checkProvision refuses what is wrong with a request, and what this driver
// cannot do.
func (d *Driver) checkProvision(req provider.ProvisionRequest) error {
	if err := req.Validate(); err != nil {
		return err
	}
	if err := d.limits.Refuse(req.Services); err != nil {
		return err
	}
	return checkValues(req.TenantID, req.Services)
}

// checkValues refuses images that no registry could have, and secrets and volumes of
// nobody.
func checkValues(tenant string, services []provider.ServiceSpec) error {
	for i, s := range services {
		if _, err := spec.ParseImage(s.Image); err != nil {
			return fmt.Errorf("%w: services[%d].image: %w", provider.ErrInvalid, i, err)
		}
		if tenant == "" && len(s.Secrets)+len(s.ConfigFiles) > 0 {
			return fmt.Errorf("%w: tenant_id: is missing, and services[%d] has secrets or config files", provider.ErrInvalid, i)
		}
		if tenant == "" && slices.ContainsFunc(s.Volumes, func(v provider.VolumeSpec) bool { return len(v.IDs) > 0 }) {
			return fmt.Errorf("%w: tenant_id: is missing, and services[%d] has volumes with ids", provider.ErrInvalid, i)
		}
	}
	return nil
}

// repeated is nil when the request is the one that was accepted.
func (d *Driver) repeated(ctx context.Context, w *records.Workload, req provider.ProvisionRequest) error {
	if w.Deleting {
		return fmt.Errorf("%w: instance %s is being deprovisioned", provider.ErrConflict, w.ID)
	}
	c := contents{d, w.Tenant, w.ID}
	for i := range req.Services {
		if err := c.compare(ctx, req.Services[i].Name, req.Services[i].ConfigFiles, w.Provisioned); err != nil {
			return err
		}
	}
	print, err := fingerprint(req)
	if err != nil {
		return err
	}
	if print != w.Provisioned.Fingerprint {
		return fmt.Errorf("%w: instance %s was provisioned by another request; change it by Deploy", provider.ErrConflict, w.ID)
	}
	return nil
}

// hopeless reports whether the first release has failed and nothing serves: the
// driver does not try again until somebody asks for it.
func hopeless(w *records.Workload) bool {
	return w.RolloutFailed() && w.Serving() == nil && !w.Desired.Stopped
}

// retry tries a first release again, with the values that secrets have by now.
func (d *Driver) retry(ctx context.Context, w *records.Workload) (*records.Workload, error) {
	versions, err := contents{d, w.Tenant, w.ID}.versions(ctx, w.Wanted().Services)
	if err != nil {
		return nil, err
	}
	w, err = d.records.Change(ctx, w.ID, func(w *records.Workload) error {
		w.Wanted().Versions = versions
		// In new containers: those of the first try have used up their time.
		return d.desire(w, intent{rev: w.Wanted(), kind: store.AttemptApply, action: actionCreate, anew: true}, d.now())
	})
	return w, failed("provision", err)
}

// accept records a new workload: first that something is about to be kept for
// it, then, with that in place, what it shall be.
func (d *Driver) accept(ctx context.Context, req provider.ProvisionRequest) (*records.Workload, error) {
	list, err := d.containers(ctx, req.InstanceID)
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		return nil, fmt.Errorf("%w; deprovision it first (%w)", noRecord(req.InstanceID), provider.ErrConflict)
	}
	app := translate.App(req.InstanceID, req.TenantID, req.Network)
	if err := d.unreserve(ctx, req.InstanceID, app); err != nil {
		return nil, err
	}
	_, err = d.records.Update(ctx, req.InstanceID, func(w *records.Workload) (*records.Workload, error) {
		if w == nil {
			w = &records.Workload{CreatedAt: d.now()}
		}
		w.Tenant, w.App = req.TenantID, app
		return w, nil
	})
	if err != nil {
		return nil, failed("provision", err)
	}
	if err := d.join(ctx, app, req); err != nil {
		return nil, failed("provision "+req.InstanceID.String(), err)
	}
	c := contents{d, req.TenantID, req.InstanceID}
	var accepted records.Accepted
	for i := range req.Services {
		if err := c.store(ctx, req.Services[i].Name, req.Services[i].ConfigFiles, &accepted); err != nil {
			return nil, err
		}
	}
	if accepted.Fingerprint, err = fingerprint(req); err != nil {
		return nil, err
	}
	versions, err := c.versions(ctx, req.Services)
	if err != nil {
		return nil, err
	}
	w, err := d.records.Change(ctx, req.InstanceID, func(w *records.Workload) error {
		return d.create(w, req, accepted, versions, d.now())
	})
	return w, failed("provision", err)
}

// unreserve lets go of the network that an earlier request was to have, which
// never was accepted.
func (d *Driver) unreserve(ctx context.Context, workload id.ID, app string) error {
	w, err := d.records.Load(ctx, workload)
	if errors.Is(err, provider.ErrNotFound) || err == nil && w.App == app {
		return nil
	}
	if err != nil {
		return failed("provision", err)
	}
	return d.leave(ctx, workload, w.App)
}

// create fills in the record of a new workload.
func (d *Driver) create(
	w *records.Workload, req provider.ProvisionRequest, accepted records.Accepted, versions map[string]map[string]secrets.Version, now time.Time,
) error {
	w.Name, w.Kind, w.Labels, w.Bounds = req.Name, req.Kind, req.Labels, req.Rollout
	w.Provisioned, w.CreatedAt = accepted, now
	w.LastRevision++
	w.Target = w.LastRevision
	w.Releases = append(w.Releases, records.Release{ID: req.ReleaseID})
	w.Revisions = append(w.Revisions, records.Revision{
		Number: w.LastRevision, Release: req.ReleaseID, Services: req.Services, Versions: versions,
		Replicas: translate.Replicas(req.Services), CreatedAt: now,
	})
	return d.desire(w, intent{rev: w.Wanted(), kind: store.AttemptApply, action: actionCreate}, now)
}

// join makes the workload a member of its network. Containers on it that no
// record tells of keep their addresses.
func (d *Driver) join(ctx context.Context, app string, req provider.ProvisionRequest) error {
	release, err := d.lockNetwork(ctx, app)
	if err != nil {
		return err
	}
	defer release()
	if err := d.records.Join(ctx, app, req.InstanceID); err != nil {
		return err
	}
	if _, err := d.records.SubnetOf(ctx, app); err == nil || req.Network == "" {
		return nil
	}
	labels := map[string]string{docker.LabelInstance: d.opts.Owner, docker.LabelApp: app}
	nets, err := d.rt.ListNetworks(ctx, labels)
	if err != nil || len(nets) == 0 || len(nets[0].Subnets) == 0 {
		return err
	}
	list, err := d.rt.List(ctx, labels)
	if err != nil || len(list) == 0 {
		return err
	}
	if err := d.records.SaveSubnet(ctx, store.Subnet{AppID: app, Prefix: nets[0].Subnets[0]}); err != nil {
		return err
	}
	for _, c := range list {
		if c.Address.IsValid() {
			holder := c.Labels[docker.LabelService] + "/" + c.Name
			if err := d.records.Adopt(ctx, app, holder, c.Address); err != nil {
				return err
			}
		}
	}
	return nil
}

// provisioned is the answer to Provision.
func (d *Driver) provisioned(ctx context.Context, w *records.Workload) (*provider.ProvisionResult, error) {
	res := &provider.ProvisionResult{
		ProviderRef: ref(w.ID), ServiceRefs: map[string]string{}, Endpoints: []provider.Endpoint{},
		Metadata: map[string]string{"network": application.NetworkName(d.opts.Prefix, w.App)},
	}
	st, err := d.Status(ctx, w.ID)
	if err != nil {
		return nil, err
	}
	res.Endpoints = st.Endpoints
	for name, s := range st.Services {
		if strings.TrimSpace(s.ProviderRef) != "" {
			res.ServiceRefs[name] = s.ProviderRef
		}
	}
	return res, nil
}
