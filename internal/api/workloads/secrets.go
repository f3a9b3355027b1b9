package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/rollout"
)

// SecretUse is a service of a workload that names a key of the tenant's vault.
type SecretUse struct {
	Workload, Service string
	Key               string

	// Optional means that the service does without a value.
	Optional bool
}

// SecretUses are the uses of keys by workloads, sorted, each service and key once:
// by the release that serves, and by the one that a rollout under way brings. A
// workload that is being deleted uses nothing any more.
func (s *Service) SecretUses(ctx context.Context) ([]SecretUse, error) {
	all, err := s.rows(ctx)
	if err != nil {
		return nil, err
	}
	var out []SecretUse
	for _, r := range all {
		if r.Removing {
			continue
		}
		releases, err := s.wantedReleases(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("look for the secrets of workload %s: %w", r.Name, err)
		}
		for _, release := range releases {
			for _, svc := range release.Services {
				for _, use := range usesOf(svc) {
					use.Workload, use.Service = r.Name, svc.Name
					out = append(out, use)
				}
			}
		}
	}
	return distinct(out), nil
}

// wantedReleases are those of which a container may be made without being asked for
// anew.
func (s *Service) wantedReleases(ctx context.Context, r row) ([]*rollout.Release, error) {
	have, err := s.history(ctx, r)
	if err != nil {
		return nil, err
	}
	var out []*rollout.Release
	if have.base != nil {
		out = append(out, have.base)
	}
	if have.open != nil {
		coming, err := s.rollouts.Release(ctx, r.ID, have.open.Release)
		if err != nil && !errors.Is(err, provider.ErrNotFound) {
			return nil, err
		}
		if err == nil {
			out = append(out, coming)
		}
	}
	return out, nil
}

// usesOf are the keys that a service names, in whatever way.
func usesOf(svc provider.ServiceSnapshot) []SecretUse {
	var out []SecretUse
	for _, ref := range svc.Secrets {
		out = append(out, SecretUse{Key: ref.Key, Optional: ref.Optional})
	}
	for _, f := range svc.ConfigFiles {
		if f.Key != "" {
			out = append(out, SecretUse{Key: f.Key})
		}
	}
	for _, port := range svc.Ports {
		if port.TLS != nil && port.TLS.Secret != "" {
			out = append(out, SecretUse{Key: port.TLS.Secret})
		}
	}
	return out
}

// distinct sorts uses and has each once. A key that a service requires in one place
// is required.
func distinct(uses []SecretUse) []SecretUse {
	same := func(a, b SecretUse) int {
		return cmp.Or(cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Key, b.Key))
	}
	slices.SortFunc(uses, func(a, b SecretUse) int {
		switch c := same(a, b); {
		case c != 0 || a.Optional == b.Optional:
			return c
		case b.Optional:
			return -1
		}
		return 1
	})
	return slices.CompactFunc(uses, func(a, b SecretUse) bool { return same(a, b) == 0 })
}
