package group

import (
	"context"
	"errors"
	"log/slog"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// maxRemovals bounds the removals of one pass.
const maxRemovals = 32

// maxLaunches bounds the creates of one pass, each of which may take a request's time.
const maxLaunches = 8

// execute does what was decided, and returns how many things it did. What fails is
// noted and tried again by later passes; an error ends this one.
func (c *controller) execute(ctx context.Context, d *Decision) (done int, err error) {
	launches := 0
	for _, a := range d.Actions {
		if ctx.Err() != nil || done >= maxRemovals {
			return done, ctx.Err()
		}
		if a.Kind == Launch || a.Kind == Resume {
			if c.now.Before(c.memory.launch.NotBefore) {
				continue // a failure was counted since it was decided
			}
			ok, wait := c.g.gate.pass(c.key.Tenant+"/"+c.key.Group, c.now, c.conf.Shard.Timings.CreateInterval.Std())
			if !ok {
				c.again(wait)
				continue
			}
			if launches++; launches > maxLaunches {
				return done, nil
			}
		}
		err := c.act(ctx, a)
		if errors.Is(err, instances.ErrNotLeader) || ctx.Err() != nil {
			return done, err
		}
		if a.Kind != Drain {
			done++
		}
		if err != nil && (a.Kind == Launch || a.Kind == Resume) {
			return done, nil // the backoff decides about the others
		}
	}
	return done, nil
}

func (c *controller) act(ctx context.Context, a Action) error {
	switch a.Kind {
	case Launch, Resume:
		return c.create(ctx, a)
	case Drain:
		return c.drain(ctx, a)
	}
	return c.remove(ctx, a)
}

// create makes a machine, or goes on with one. It asks for the same every time.
func (c *controller) create(ctx context.Context, a Action) error {
	made, err := c.g.opts.Machines.CreateInstance(ctx, instances.CreateInstanceRequest{
		InstanceID: a.ID, Tenant: c.key.Tenant, Group: c.key.Group,
	})
	if err == nil {
		c.memory.expected[made.InstanceID] = c.now
		c.log.InfoContext(ctx, "a machine was made", "instance", made.InstanceID, "reason", a.Why)
		return nil
	}
	var failed *instances.CreateError
	if errors.As(err, &failed) && !errors.Is(err, instances.ErrExists) {
		c.memory.expected[failed.InstanceID] = c.now
	}
	if errors.Is(err, instances.ErrNotLeader) {
		return err
	}
	again, _ := infra.RetryAfter(err)
	c.memory.failure(c.now, c.backoff(), explain(err), again)
	if a.ID != "" && errors.Is(err, instances.ErrExists) {
		c.memory.tried(a.ID, c.now, c.backoff()) // made by another request: not ours to go on with
	}
	c.log.WarnContext(ctx, "a machine was not made", "instance", a.ID, "reason", a.Why, "failures", c.memory.launch.Failures, "error", err)
	return err
}

// drain says that a machine drains, and drains it.
func (c *controller) drain(ctx context.Context, a Action) error {
	if _, ok := c.memory.drains[a.ID]; !ok {
		c.memory.drains[a.ID] = c.now
		if err := c.g.opts.Rows.StartDrain(ctx, a.ID, c.now); err != nil { // for who asks the cache
			c.log.WarnContext(ctx, "the drain of a machine was not noted", "instance", a.ID, "error", err)
		}
		c.log.InfoContext(ctx, "a machine is drained", "instance", a.ID, "reason", a.Why, "deadline", a.Deadline)
	}
	c.again(pollInterval)
	if c.g.opts.Drainer == nil {
		c.again(soon)
		return nil
	}
	if err := c.g.opts.Drainer.Drain(ctx, a.ID, a.Deadline); err != nil {
		c.log.WarnContext(ctx, "a machine is not drained yet", "instance", a.ID, "reason", a.Why, "error", err)
		return err
	}
	return nil
}

// remove has the manager remove a machine.
func (c *controller) remove(ctx context.Context, a Action) error {
	if a.Failed && !c.memory.failed[a.ID] {
		c.memory.failed[a.ID] = true
		c.memory.failure(c.now, c.backoff(), "machines are made and do not come up", 0)
	}
	c.memory.tried(a.ID, c.now, c.backoff())
	c.again(soon)
	err := c.g.opts.Machines.DeleteInstanceFor(ctx, c.key.Tenant, a.ID)
	if errors.Is(err, instances.ErrInstanceNotFound) {
		return nil
	}
	if err != nil {
		c.log.WarnContext(ctx, "a machine was not removed yet", "instance", a.ID, "reason", a.Why, "error", err)
		return err
	}
	c.g.answered(a.ID)
	level := slog.LevelInfo
	if c.memory.removals[a.ID].count > 1 {
		level = slog.LevelDebug // it takes its time, and is looked after until it is gone
	}
	c.log.Log(ctx, level, "a machine is removed", "instance", a.ID, "reason", a.Why)
	return nil
}

func (c *controller) backoff() reconcile.Backoff {
	t := c.conf.Shard.Timings
	return reconcile.Backoff{Base: t.RetryMin.Std(), Ceiling: t.RetryMax.Std(), Rand: c.g.opts.Rand}
}

// explain says why a launch failed, in words that tell nothing of the inside.
func explain(err error) string {
	for _, one := range []struct {
		err  error
		text string
	}{
		{infra.ErrNoCapacity, "the provider has no capacity"},
		{instances.ErrNoSubnet, "no subnet of the pool has room"},
		{infra.ErrThrottled, "the provider asks for fewer calls"},
		{instances.ErrMissing, "an image, a variable or a secret that the template requires is missing"},
		{instances.ErrTemplate, "the template does not work"},
		{instances.ErrUserdata, "the user data could not be had"},
		{infra.ErrInvalidRequest, "the provider refuses the request"},
		{instances.ErrInvalidRequest, "the request is not valid"},
		{config.ErrTemplateNotFound, "the template does not exist"},
		{instances.ErrAbandoned, "the machine was not there at its launch deadline"},
		{instances.ErrUnfinished, "the provider gave no answer"},
	} {
		if errors.Is(err, one.err) {
			return one.text
		}
	}
	return "it did not work"
}
