package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// change reads the record of an instance under its lock, lets f make the next one of
// it and writes that. f reports whether there is anything to write.
func (p *Provider) change(ctx context.Context, instance id.ID, f func(rec *record) (bool, error)) error {
	if err := ctx.Err(); err != nil {
		return err
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
	if rec.Removing {
		return fmt.Errorf("%w: it is being removed", provider.ErrConflict)
	}
	write, err := f(rec)
	if err != nil || !write {
		return err
	}
	return p.save(ctx, rec)
}

// Start implements provider.Provider.
func (p *Provider) Start(ctx context.Context, instance id.ID) error {
	err := p.change(ctx, instance, func(rec *record) (bool, error) {
		was := rec.Stopped
		rec.Stopped = false
		if was {
			rec.Since = p.cluster.now()
		}
		return was, nil
	})
	if errors.Is(err, provider.ErrNoRecord) {
		err = p.startBare(ctx, instance)
	} else if err == nil {
		err = p.advance(ctx, instance)
	}
	if err != nil {
		return fmt.Errorf("start instance %s: %w", instance, err)
	}
	return nil
}

// Stop implements provider.Provider.
func (p *Provider) Stop(ctx context.Context, instance id.ID) error {
	err := p.change(ctx, instance, func(rec *record) (bool, error) {
		was := rec.Stopped
		rec.Stopped = true
		return !was, nil
	})
	if errors.Is(err, provider.ErrNoRecord) {
		err = p.stopBare(ctx, instance)
	} else if err == nil {
		err = p.advance(ctx, instance)
	}
	if err != nil {
		return fmt.Errorf("stop instance %s: %w", instance, err)
	}
	return nil
}

// Restart implements provider.Provider. What serves is begun anew as a release is;
// where that is not possible, because a rollout failed, containers restart in
// place.
func (p *Provider) Restart(ctx context.Context, instance id.ID) error {
	inPlace := false
	err := p.change(ctx, instance, func(rec *record) (bool, error) {
		stopped := rec.Stopped
		rec.Stopped, rec.Since = false, p.cluster.now()
		switch {
		case rec.rolling() && !rec.Serving.IsNil():
			return false, fmt.Errorf("%w: release %s", provider.ErrBusy, rec.Target)
		case stopped, rec.rolling():
			return true, nil
		case rec.Failure != nil && !rec.Serving.IsNil():
			inPlace = true
			return false, nil
		}
		rec.begin(rec.Target, "")
		return true, nil
	})
	if err == nil && inPlace {
		err = p.restartInPlace(ctx, instance)
	}
	if err == nil {
		err = p.advance(ctx, instance)
	}
	if err != nil {
		return fmt.Errorf("restart instance %s: %w", instance, err)
	}
	return nil
}

func (p *Provider) restartInPlace(ctx context.Context, instance id.ID) error {
	all, err := p.look(ctx, instance)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.state != running {
			continue
		}
		if err := p.wire.do(ctx, "restart "+s.name, func() error { s.again(); return nil }); err != nil {
			return err
		}
	}
	return nil
}

// Scale implements provider.Provider.
func (p *Provider) Scale(ctx context.Context, instance id.ID, spec provider.ResourceSpec) error {
	if !p.can(provider.CapScale) || spec.GPU != "" {
		return fmt.Errorf("scale instance %s: %w: scale, or a GPU", instance, provider.ErrNotSupported)
	}
	err := p.change(ctx, instance, func(rec *record) (bool, error) {
		if err := spec.Validate(); err != nil {
			return false, err
		}
		if spec.IsZero() {
			return false, nil
		}
		return true, rec.resize(spec)
	})
	if err == nil {
		err = p.advance(ctx, instance)
	}
	if err != nil {
		return fmt.Errorf("scale instance %s: %w", instance, err)
	}
	return nil
}

// resize takes over what is not zero.
func (r *record) resize(spec provider.ResourceSpec) error {
	services := r.services(r.Target)
	m := mainOf(services)
	size := m.Resources
	size.Replicas = r.Replicas
	for from, to := range map[*int]*int{
		&spec.CPUMillis: &size.CPUMillis, &spec.MemoryMB: &size.MemoryMB, &spec.DiskMB: &size.DiskMB, &spec.Replicas: &size.Replicas,
	} {
		if *from != 0 {
			*to = *from
		}
	}
	_, err := provider.ApplyDeploy(r.Request.Kind, services, []provider.ServiceDeploySpec{{Name: m.Name, Image: m.Image, Resources: &size}})
	if err != nil {
		return err
	}
	if !r.Serving.IsNil() && size.Replicas > r.room(r.Serving) {
		return fmt.Errorf("%w: the release that serves has volumes for fewer replicas", provider.ErrInvalid)
	}
	if size.Replicas > 1 && hostPorts(services) {
		return fmt.Errorf("%w: two replicas cannot have one port of the host", provider.ErrInvalid)
	}
	r.Replicas = size.Replicas
	if r.Sizes == nil {
		r.Sizes = map[string]provider.ResourceSpec{}
	}
	for _, release := range []id.ID{r.Target, r.Serving} {
		if !release.IsNil() {
			r.Sizes[release.String()] = size
		}
	}
	return nil
}

func hostPorts(services []provider.ServiceSpec) bool {
	for _, s := range services {
		for _, port := range s.Ports {
			if port.Host != 0 {
				return true
			}
		}
	}
	return false
}

// Deprovision implements provider.Provider.
func (p *Provider) Deprovision(ctx context.Context, instance id.ID) error {
	if err := p.deprovision(ctx, instance); err != nil {
		return fmt.Errorf("deprovision instance %s: %w", instance, err)
	}
	return nil
}

func (p *Provider) deprovision(ctx context.Context, instance id.ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	unlock, err := p.lock(ctx, instance)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := p.load(ctx, instance)
	switch {
	case errors.Is(err, provider.ErrNotFound):
		return p.clear(ctx, instance, "")
	case err != nil:
		return err
	}
	if !rec.Removing {
		rec.Removing = true
		if err := p.save(ctx, rec); err != nil {
			return err
		}
	}
	return p.removeAll(ctx, rec)
}

// removeAll removes everything, and the record last.
func (p *Provider) removeAll(ctx context.Context, rec *record) error {
	instance := rec.Request.InstanceID
	if err := p.clear(ctx, instance, rec.Request.TenantID); err != nil {
		return err
	}
	err := p.wire.do(ctx, "remove the record of "+instance.String(), func() error {
		defer p.cluster.signal(instance) // who follows it has seen its containers go, and waits for this
		return p.store.Delete(ctx, recordKey(instance), rec.version)
	})
	if err == nil || errors.Is(err, provider.ErrNotFound) {
		p.noteEnd(instance)
		p.log.InfoContext(ctx, "instance is gone", "instance", instance)
		return nil
	}
	return err
}

// clear removes everything but the record.
func (p *Provider) clear(ctx context.Context, instance id.ID, tenant string) error {
	all, err := p.look(ctx, instance)
	if err != nil {
		return err
	}
	if err := p.end(ctx, all); err != nil {
		return err
	}
	for _, o := range p.cluster.of(instance) { // not only what a look saw
		if tenant == "" {
			tenant = o.tenant
		}
		if err := p.wire.do(ctx, "remove "+o.name, func() error { o.remove(); return nil }); err != nil {
			return err
		}
	}
	if err := p.wire.do(ctx, "remove the volumes of "+instance.String(), func() error { p.cluster.dropVolumes(instance); return nil }); err != nil {
		return err
	}
	if err := p.wire.do(ctx, "leave the networks of "+instance.String(), func() error { p.cluster.leave(instance); return nil }); err != nil {
		return err
	}
	if tenant != "" {
		if err := p.forget(ctx, tenant, instance); err != nil {
			return err
		}
	}
	if len(all) > 0 {
		p.noteEnd(instance)
	}
	return nil
}

// end tells containers to end and waits until they have, each within its grace.
func (p *Provider) end(ctx context.Context, all []seen) error {
	for {
		next, err := p.endPass(ctx, all)
		if err != nil || next == 0 {
			return err
		}
		changed := p.cluster.change()
		for i, s := range all {
			all[i] = s.container.look()
		}
		if next, err = p.endPass(ctx, all); err != nil || next == 0 {
			return err
		}
		if err := pause(ctx, next, changed); err != nil {
			return err
		}
		for i, s := range all {
			all[i] = s.container.look()
		}
	}
}

// endPass asks what runs to end, kills what took too long, and returns after how
// long to look again; 0 is never.
func (p *Provider) endPass(ctx context.Context, all []seen) (time.Duration, error) {
	next := time.Duration(0)
	for _, s := range all {
		if s.state != running {
			continue
		}
		left := grace(s.spec)
		if s.askedAt.IsZero() {
			if err := p.wire.do(ctx, "stop "+s.name, func() error { s.ask(); return nil }); err != nil {
				return 0, err
			}
		} else if left -= p.cluster.now().Sub(s.askedAt); left <= 0 {
			if err := p.wire.do(ctx, "kill "+s.name, func() error { s.kill(); return nil }); err != nil {
				return 0, err
			}
			continue
		}
		if next == 0 || left < next {
			next = left
		}
	}
	if next > poll {
		next = poll
	}
	return next, nil
}

func grace(s provider.ServiceSpec) time.Duration {
	if s.StopGrace > 0 {
		return s.StopGrace
	}
	return provider.DefaultStopGrace
}

// poll is how often something is looked at of which nobody tells.
const poll = 20 * time.Millisecond

// pause waits for a time, a change, or the end of ctx.
func pause(ctx context.Context, d time.Duration, changed <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
