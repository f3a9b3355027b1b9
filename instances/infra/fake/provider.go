package fake

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// Provider is a cloud as one owner reaches it. It holds nothing of its own.
type Provider struct {
	cloud *Cloud
	owner infra.Owner
}

var _ infra.Provider = (*Provider)(nil)

// Kind implements infra.Provider.
func (*Provider) Kind() string { return Kind }

// CreateInstance implements infra.Provider.
func (p *Provider) CreateInstance(ctx context.Context, req infra.CreateInstanceRequest) (made *infra.Instance, err error) {
	err = p.cloud.call(ctx, "CreateInstance", req.InstanceID, func(f Fault) error {
		if err := p.check(req); err != nil {
			return err
		}
		made, err = p.cloud.create(p.owner, req, f)
		return err
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

func (p *Provider) check(req infra.CreateInstanceRequest) error {
	if err := req.Validate(); err != nil {
		return err
	}
	if err := p.owner.Check(req.Owner()); err != nil {
		return err
	}
	if p.cloud.opts.Args == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(req.Args)) {
		if !slices.Contains(p.cloud.opts.Args, name) {
			return fmt.Errorf("%w: the argument %q is not known", infra.ErrInvalidRequest, name)
		}
	}
	return nil
}

// create makes a machine, unless its instance has one.
func (c *Cloud) create(o infra.Owner, req infra.CreateInstanceRequest, f Fault) (*infra.Instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.opts.Now()
	for _, m := range c.machines {
		if m.inst.InstanceID != req.InstanceID || m.goneBy(now) && c.opts.Forgets {
			continue
		}
		switch {
		case !m.deletedAt.IsZero():
			return nil, fmt.Errorf("%w: its machine was deleted", infra.ErrConflict)
		case !o.Is(m.inst.Tags, req.InstanceID) || m.inst.Tags[infra.TagRequest] != req.Digest():
			return nil, fmt.Errorf("%w: it has a machine of another request", infra.ErrConflict)
		}
		inst := m.seen(now)
		return &inst, nil
	}
	room, err := c.room(req.SubnetID, now)
	switch {
	case err != nil:
		return nil, err
	case !room:
		return nil, fmt.Errorf("%w in subnet %q", infra.ErrNoCapacity, req.SubnetID)
	}
	boot := c.opts.BootTime
	if f.Do == SlowBoot {
		boot += f.For
	}
	inst := c.add(infra.Instance{InstanceID: req.InstanceID, Tags: req.Tags()}, req.SubnetID, boot).seen(now)
	return &inst, nil
}

// room is called with the lock held.
func (c *Cloud) room(subnet string, now time.Time) (bool, error) {
	if c.opts.Subnets == nil {
		return true, nil
	}
	size, ok := c.opts.Subnets[subnet]
	if !ok {
		return false, fmt.Errorf("%w: there is no subnet %q", infra.ErrInvalidRequest, subnet)
	}
	for _, m := range c.machines {
		if m.subnet == subnet && !m.goneBy(now) {
			size--
		}
	}
	return size > 0, nil
}

// find is the machine of an instance, the newest if there were several. It is
// called with the lock held.
func (c *Cloud) find(o infra.Owner, instanceID string, now time.Time) *machine {
	for _, m := range slices.Backward(c.machines) {
		if o.Is(m.inst.Tags, instanceID) && m.foundBy(now, c.opts.Lingers) {
			return m
		}
	}
	return nil
}

// DeleteInstance implements infra.Provider. The provider's id is not needed.
func (p *Provider) DeleteInstance(ctx context.Context, instanceID, _ string) error {
	return p.cloud.call(ctx, "DeleteInstance", instanceID, func(f Fault) error {
		if err := infra.CheckInstanceID(instanceID); err != nil {
			return err
		}
		p.cloud.remove(p.owner, instanceID, f)
		return nil
	})
}

func (c *Cloud) remove(o infra.Owner, instanceID string, f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.opts.Now()
	m := c.find(o, instanceID, now)
	if m == nil || !m.deletedAt.IsZero() && !m.partial {
		return
	}
	stop := c.opts.StopTime
	if f.Do == SlowDelete {
		stop += f.For
	}
	m.deletedAt, m.goneAt, m.partial = now, now.Add(stop), f.Do == PartialDelete
	c.note(m, "deleting")
}

// GetInstanceStatus implements infra.Provider. The provider's id is not needed.
func (p *Provider) GetInstanceStatus(ctx context.Context, instanceID, _ string) (found *infra.Instance, err error) {
	err = p.cloud.call(ctx, "GetInstanceStatus", instanceID, func(Fault) error {
		if err := infra.CheckInstanceID(instanceID); err != nil {
			return err
		}
		c := p.cloud
		c.mu.Lock()
		defer c.mu.Unlock()
		now := c.opts.Now()
		m := c.find(p.owner, instanceID, now)
		if m == nil {
			return infra.ErrInstanceNotFound
		}
		inst := m.seen(now)
		found = &inst
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// CheckSubnetCapacity implements infra.Provider.
func (p *Provider) CheckSubnetCapacity(ctx context.Context, subnetID string) (room bool, err error) {
	err = p.cloud.call(ctx, "CheckSubnetCapacity", "", func(Fault) error {
		p.cloud.mu.Lock()
		defer p.cloud.mu.Unlock()
		room, err = p.cloud.room(subnetID, p.cloud.opts.Now())
		return err
	})
	return room && err == nil, err
}
