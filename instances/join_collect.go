package instances

import (
	"context"
	"errors"
	"time"

	"github.com/berth-cloud/berth/instances/storage"
)

// joined looks after the record of a host that joined. No provider knows of it, so it
// never counts as gone; one that did not register while its token lived is forgotten.
func (p *pass) joined(ctx context.Context, r *InstanceRecord) error {
	m := p.m
	registered := func(r *InstanceRecord) bool { return r.RegisteredAt != nil }
	if len(p.listed[r.InstanceID]) > 0 {
		m.opts.Logger.WarnContext(ctx, "the provider lists a machine with the id of a host that joined; it is left alone", "instance", r.InstanceID)
	}
	if registered(r) || !m.now().After(r.TokenExpiresAt.Add(m.skew())) {
		return nil
	}
	p.report.Unregistered++
	return m.deleteUnless(ctx, r, "it did not join in time", registered)
}

// nameAge is how old the claim of a name is before it can be one that nobody needs.
const nameAge = 24 * time.Hour

// sweepNames removes claims of names whose host is gone.
func (m *Manager) sweepNames(ctx context.Context, records []stored) error {
	all, err := m.objects.List(ctx, joinedPrefix)
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, s := range records {
		if s.record.Joined != nil && !s.record.State.Leaving() {
			used[joinedPrefix+s.record.Joined.Name+".json"] = true
		}
	}
	for _, object := range all {
		if used[object.Key] || m.now().Sub(object.Modified) < nameAge {
			continue
		}
		if err := m.sweepName(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) sweepName(ctx context.Context, object storage.Metadata) error {
	if _, err := m.term(); err != nil {
		return err
	}
	err := m.objects.DeleteIfMatch(ctx, object.Key, object.Tag)
	if errors.Is(err, storage.ErrPrecondition) || errors.Is(err, storage.ErrNotFound) {
		return nil // somebody took the name meanwhile
	}
	return err
}
