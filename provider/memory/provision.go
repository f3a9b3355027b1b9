package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// Provision implements provider.Provider.
func (p *Provider) Provision(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
	if err := p.provision(ctx, req); err != nil {
		return nil, fmt.Errorf("provision instance %s: %w", req.InstanceID, err)
	}
	if err := p.advance(ctx, req.InstanceID); err != nil {
		return nil, fmt.Errorf("provision instance %s: %w", req.InstanceID, err)
	}
	st, err := p.Status(ctx, req.InstanceID)
	if err != nil {
		return nil, fmt.Errorf("provision instance %s: %w", req.InstanceID, err)
	}
	res := &provider.ProvisionResult{ProviderRef: ref(req.InstanceID), ServiceRefs: map[string]string{}, Endpoints: st.Endpoints}
	for name, s := range st.Services {
		if s.ProviderRef != "" {
			res.ServiceRefs[name] = s.ProviderRef
		}
	}
	return res, nil
}

func ref(instance id.ID) string { return "memory:" + instance.String() }

// provision records what is wanted.
func (p *Provider) provision(ctx context.Context, req provider.ProvisionRequest) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !p.can(provider.CapProvision) {
		return fmt.Errorf("%w: provision", provider.ErrNotSupported)
	}
	if err := req.Validate(); err != nil {
		return err
	}
	if err := p.supports(req.TenantID, req.Services); err != nil {
		return err
	}
	unlock, err := p.lock(ctx, req.InstanceID)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := p.load(ctx, req.InstanceID)
	if err != nil && !errors.Is(err, provider.ErrNotFound) {
		return err
	}
	next, contents := newRecord(req)
	next.Since = p.cluster.now()
	if rec == nil {
		if all, err := p.look(ctx, req.InstanceID); err != nil {
			return err
		} else if len(all) > 0 {
			return fmt.Errorf("%w: there are containers of it", provider.ErrNoRecord)
		}
		if err := p.save(ctx, next); err != nil {
			return err
		}
		p.log.InfoContext(ctx, "instance is wanted", "instance", req.InstanceID, "services", len(req.Services))
		return p.keep(ctx, req.TenantID, contents)
	}
	if rec.Removing {
		return fmt.Errorf("%w: it is being removed", provider.ErrConflict)
	}
	if err := p.repeats(ctx, rec, next, contents); err != nil {
		return err
	}
	if err := p.keep(ctx, req.TenantID, contents); err != nil {
		return err
	}
	if !rec.Serving.IsNil() {
		return nil
	}
	return p.afresh(ctx, rec)
}

// afresh begins the wanted release again where it has failed, and its time where
// that could not begin yet because the vault had not all of its contents.
func (p *Provider) afresh(ctx context.Context, rec *record) error {
	switch {
	case rec.Failure != nil:
		rec.begin(rec.Target, rec.Strategy)
	case rec.release(rec.Target).Pinned:
		return nil
	}
	rec.Since = p.cluster.now()
	return p.save(ctx, rec)
}

// repeats fails unless a request is the one that is recorded.
func (p *Provider) repeats(ctx context.Context, rec, next *record, contents map[string]string) error {
	same, err := p.sameContents(ctx, rec.Request.TenantID, contents)
	if err != nil {
		return err
	}
	if !same || !equal(rec.Request, next.Request) {
		return fmt.Errorf("%w: it was provisioned with another request; changes go through Deploy", provider.ErrConflict)
	}
	return nil
}

// equal compares what JSON keeps of two values.
func equal[T any](a, b T) bool { return reflect.DeepEqual(normal(a), normal(b)) }

// newRecord is the record of a request, and the contents that go into the vault.
func newRecord(req provider.ProvisionRequest) (*record, map[string]string) {
	req.Services = provider.CloneServices(req.Services)
	first, all := req.InitialRelease(), map[string]string{}
	for i, s := range req.Services {
		files, contents := stash(req.InstanceID, first, s.Name, s.ConfigFiles)
		req.Services[i].ConfigFiles = files
		maps.Copy(all, contents)
	}
	replicas := max(mainOf(req.Services).Resources.Replicas, 1)
	return &record{
		Request: req, Rollout: req.Rollout, Target: first, Turn: 1, Turns: 1, Replicas: replicas,
		Releases: []*release{{ID: first, Services: provider.CloneServices(req.Services)}},
	}, all
}

// supports refuses what a Provider cannot do.
func (p *Provider) supports(tenant string, services []provider.ServiceSpec) error {
	for i, s := range services {
		kept := slices.ContainsFunc(s.Volumes, func(v provider.VolumeSpec) bool { return len(v.IDs) > 0 })
		if kept && tenant == "" {
			return fmt.Errorf("%w: tenant_id: is missing, and services[%d] has volumes with ids", provider.ErrInvalid, i)
		}
		what := ""
		switch {
		case s.Resources.GPU != "":
			what = "a GPU"
		case len(s.Volumes) > 0 && !p.can(provider.CapVolumes):
			what = "volumes"
		case kept && !p.can(provider.CapKeptVolumes):
			what = "volumes that stay"
		case s.HealthCheck != nil && s.HealthCheck.GRPC != nil, s.Liveness != nil && s.Liveness.GRPC != nil:
			what = "a check by gRPC"
		}
		for _, port := range s.Ports {
			if port.TLS != nil || len(port.Domains) > 0 {
				what = "domains and TLS"
			}
			if port.Transport() != provider.ProtocolTCP {
				what = "ports of UDP"
			}
		}
		for _, ref := range s.Secrets {
			if ref.EffectiveType() == secrets.SecretTLS {
				what = "certificates"
			}
		}
		if what != "" {
			return fmt.Errorf("%w: service %s asks for %s", provider.ErrNotSupported, s.Name, what)
		}
	}
	return nil
}
