package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/secrets"
)

// secretsBack says in the plan of a rollback which values of secrets come with the
// release: those that it was made with, whatever is the newest by now.
func (s *Server) secretsBack(ctx context.Context, p *planned, current serviceState, to *store.Release) error {
	step := &p.plan.Services[0]
	refs := to.Spec.SecretRefs()
	if s.deps.Secrets == nil || len(refs) == 0 || step.Action == wire.ActionUnchanged {
		return nil
	}
	newest, err := s.newestSecrets(ctx, p.plan.App)
	if err != nil {
		return err
	}
	serving := map[string]int64{}
	if current.release != nil {
		for _, ref := range current.release.Spec.SecretRefs() {
			serving[ref.Key] = ref.Version
		}
	}
	seen := map[string]bool{}
	for _, ref := range refs {
		if seen[ref.Key] {
			continue
		}
		seen[ref.Key] = true
		name := secretName(p.plan.App, ref.Key)
		if now, named := serving[ref.Key]; named && now != ref.Version {
			step.Changes = append(step.Changes, wire.FieldChange{Field: "secret " + name, Old: secretVersion(now), New: secretVersion(ref.Version)})
		}
		if ref.Version == newest[ref.Key] {
			continue
		}
		step.Notices = append(step.Notices, s.olderSecret(ctx, name, ref.Key, version(to.Version), ref.Version, newest[ref.Key]))
	}
	return nil
}

// olderSecret is what a release with another version of a secret than the newest
// comes to. A version of 0 is no value.
func (s *Server) olderSecret(ctx context.Context, name, key, release string, had, newest int64) string {
	if had == 0 {
		return fmt.Sprintf("secret %s: %s was made without a value and runs without one; the newest, version %d, is not taken", name, release, newest)
	}
	_, _, err := s.deps.Secrets.Get(ctx, secrets.Ref{Tenant: Tenant, Key: key}, secrets.Version(had))
	if newest == 0 || errors.Is(err, secrets.ErrNotFound) { // any other error says nothing about that
		return fmt.Sprintf("secret %s: version %d, which %s was made with, is not kept any more, and no new container of %s can start", name, had, release, release)
	}
	return fmt.Sprintf("secret %s: %s runs with version %d, which it was made with; the newest, version %d, is not taken", name, release, had, newest)
}
