package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Step implements provider.Stepper.
func (p *Provider) Step(ctx context.Context, instance id.ID) (time.Duration, error) {
	next, _, err := p.pass(ctx, instance)
	if err != nil {
		return 0, fmt.Errorf("step instance %s: %w", instance, err)
	}
	return next, nil
}

// advance is what follows a change: one pass, or in mode Sync as many as it takes.
func (p *Provider) advance(ctx context.Context, instance id.ID) error {
	for {
		changed := p.cluster.change()
		next, settled, err := p.pass(ctx, instance)
		if errors.Is(err, provider.ErrNotFound) {
			return nil // somebody removed it meanwhile
		}
		if err != nil || settled || p.opts.Mode != Sync {
			return err
		}
		if next <= 0 {
			next = poll
		}
		if err := pause(ctx, next, changed); err != nil {
			return err
		}
	}
}

// pass looks at an instance and does what can be done at once. It returns after how
// long to come again, 0 when there is nothing to wait for, and whether the instance
// is as it was asked for, or failed.
func (p *Provider) pass(ctx context.Context, instance id.ID) (next time.Duration, settled bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	unlock, err := p.lock(ctx, instance)
	if err != nil {
		return 0, false, err
	}
	defer unlock()
	rec, err := p.load(ctx, instance)
	if errors.Is(err, provider.ErrNotFound) {
		all, lookErr := p.look(ctx, instance)
		switch {
		case lookErr != nil:
			return 0, false, lookErr
		case len(all) > 0, p.hasEnded(instance):
			return 0, true, nil
		}
		return 0, true, fmt.Errorf("%w: instance %s", provider.ErrNotFound, instance)
	}
	if err != nil {
		return 0, false, err
	}
	if rec.Removing {
		return 0, true, p.removeAll(ctx, rec)
	}
	all, err := p.probed(ctx, rec)
	if err != nil {
		return 0, false, err
	}
	if rec.Stopped {
		next, err := p.endPass(ctx, all)
		return next, next == 0, err
	}
	next, err = p.converge(ctx, rec, all)
	return next, !rec.rolling() && rec.calm, err
}

// probed is a look at an instance whose containers were probed where that is due.
func (p *Provider) probed(ctx context.Context, rec *record) ([]seen, error) {
	all, err := p.look(ctx, rec.Request.InstanceID)
	if err != nil {
		return nil, err
	}
	for i, s := range all {
		p.cluster.probe(ctx, s.container, rec.window())
		all[i] = s.container.look()
	}
	return all, ctx.Err()
}

// window is how long a container must be up that cannot be probed.
func (r *record) window() time.Duration {
	if r.Rollout == nil {
		return 0
	}
	return r.Rollout.StableWindow
}

// patience is how long a group may take to become ready.
func (r *record) patience() time.Duration {
	if r.Rollout == nil || r.Rollout.ReadyTimeout <= 0 {
		return provider.DefaultReadinessTimeout
	}
	return r.Rollout.ReadyTimeout
}

// converge makes a pass towards what the record wants.
func (p *Provider) converge(ctx context.Context, rec *record, all []seen) (time.Duration, error) {
	if rec.Failure != nil && rec.Serving.IsNil() {
		rec.calm = true
		return 0, nil
	}
	if !rec.rolling() {
		return p.steady(ctx, rec, all)
	}
	rel := rec.release(rec.Target)
	err := p.pin(ctx, rec, rel)
	next := poll
	if err == nil {
		next, err = p.roll(ctx, rec, all)
	}
	var bad *failure
	if !errors.As(err, &bad) {
		return next, err
	}
	rec.Failure = bad
	if !rec.Serving.IsNil() {
		rec.fit(rec.Serving)
	}
	p.log.WarnContext(ctx, "release failed", "instance", rec.Request.InstanceID, "release", rec.Target, "reason", bad.Reason, "message", bad.Message)
	if err := p.save(ctx, rec); err != nil {
		rec.Failure = nil
		return 0, err
	}
	rec.calm = rec.Serving.IsNil()
	return poll, nil
}

// steady keeps what serves as it is wanted, and removes everything else.
func (p *Provider) steady(ctx context.Context, rec *record, all []seen) (time.Duration, error) {
	m := p.members(rec, rec.Serving, rec.ServingTurn, all)
	rec.calm = true
	next, err := p.retire(ctx, m.others(rec.Replicas))
	if err != nil {
		return 0, err
	}
	if next > 0 {
		rec.calm = false
		if exclusive(m.services) {
			return next, nil
		}
	}
	for replica := range rec.Replicas {
		g := m.group(replica)
		if err := p.resized(ctx, g); err != nil {
			return 0, err
		}
		done, err := p.bringUp(ctx, rec, g, true)
		if err != nil {
			return 0, err
		}
		if !done {
			rec.calm = false
		}
	}
	if !rec.calm {
		return poll, nil
	}
	return m.probes(), nil
}

// resized gives the containers of a group the size that is wanted.
func (p *Provider) resized(ctx context.Context, g members) error {
	for _, spec := range g.services {
		s, ok := g.find(spec.Name)
		want := spec.Resources
		if !ok || s.size.CPUMillis == want.CPUMillis && s.size.MemoryMB == want.MemoryMB {
			continue
		}
		if err := p.wire.do(ctx, "resize "+s.name, func() error { s.limit(want); return nil }); err != nil {
			return err
		}
	}
	return nil
}

// retire ends groups and removes them. It returns 0 when they are gone.
func (p *Provider) retire(ctx context.Context, all []seen) (time.Duration, error) {
	next, err := p.endPass(ctx, all)
	if err != nil {
		return 0, err
	}
	for _, s := range all {
		if s.container.look().state == running {
			continue
		}
		if err := p.wire.do(ctx, "remove "+s.name, func() error { s.remove(); return nil }); err != nil {
			return 0, err
		}
	}
	return next, nil
}
