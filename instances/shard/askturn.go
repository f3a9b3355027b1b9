package shard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// kindAsk is the kind of the keys of what is asked, by the machine's id.
const kindAsk = "machine-ask"

func askKey(instanceID string) reconcile.Key {
	return reconcile.Key{Kind: kindAsk, Name: instanceID}
}

// asked makes the controller of an ask; nil is that it is done.
func (t *turn) asked(ctx context.Context, key reconcile.Key) (reconcile.Controller, error) {
	a, err := t.shard.readAsk(ctx, key.Name)
	if a == nil || err != nil {
		return nil, err
	}
	return &asking{t, a}, nil
}

// asking does one pass of one ask.
type asking struct {
	turn *turn
	ask  *ask
}

var _ reconcile.Controller = (*asking)(nil)

// Name implements reconcile.Controller.
func (c *asking) Name() string { return askKey(c.ask.ID).String() }

// Reconcile implements reconcile.Controller.
func (c *asking) Reconcile(ctx context.Context) (reconcile.Result, error) {
	conf := c.turn.shard.opts.Loader.Current()
	if conf == nil {
		return reconcile.Result{}, config.ErrNotLoaded
	}
	if c.ask.Refused != "" {
		if left := c.ask.RefusedAt.Add(conf.Shard.GC.DeletedRecordRetention.Std()).Sub(c.turn.shard.opts.Now()); left > 0 {
			return reconcile.Result{RequeueAfter: left}, nil
		}
		return c.done(ctx)
	}
	switch c.ask.Verb {
	case verbCreate:
		return c.create(ctx, conf)
	case verbDelete:
		return c.remove(ctx, conf)
	case verbRotate:
		return c.rotate(ctx)
	}
	return c.refuse(ctx, fmt.Errorf("%w: nobody knows how to %q", instances.ErrInvalidRequest, c.ask.Verb))
}

func (c *asking) done(ctx context.Context) (reconcile.Result, error) {
	return reconcile.Result{}, c.turn.shard.dropAsk(ctx, c.ask)
}

// refuse keeps why it will never be done, for who asks later.
func (c *asking) refuse(ctx context.Context, why error) (reconcile.Result, error) {
	s := c.turn.shard
	c.ask.Refused, c.ask.RefusedAt = why.Error(), s.opts.Now().UTC()
	if err := s.putAsk(ctx, c.ask); err != nil {
		return reconcile.Result{}, err
	}
	s.note(c.ask.ID, "refused", string(c.ask.Verb)+": "+why.Error())
	s.log.WarnContext(ctx, "what was asked of a machine is not done", "instance", c.ask.ID, "verb", c.ask.Verb, "error", why)
	return reconcile.Result{RequeueAfter: time.Second}, nil
}

// create has the manager make the machine, with the id that whoever asks knows already.
func (c *asking) create(ctx context.Context, conf *config.Config) (reconcile.Result, error) {
	s := c.turn.shard
	if ok, wait := c.turn.groups.Turn(c.Name()); !ok {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	_, err := told{s.Manager, s}.CreateInstance(ctx, c.ask.request())
	switch {
	case err == nil:
		s.wake(ctx, c.ask.ID)
		return c.done(ctx)
	case errors.Is(err, instances.ErrNotLeader), ctx.Err() != nil:
		return reconcile.Result{}, err
	case hopeless(err), s.opts.Now().After(c.ask.AskedAt.Add(conf.Shard.Timings.LaunchTimeout.Std())):
		return c.refuse(ctx, err)
	}
	return reconcile.Result{}, err
}

// hopeless reports whether the same create can never work.
func hopeless(err error) bool {
	for _, one := range []error{
		instances.ErrInvalidRequest, instances.ErrExists, instances.ErrAbandoned, instances.ErrTemplate,
		config.ErrGroupNotFound, config.ErrTemplateNotFound, config.ErrInvalid,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// remove drains a machine and then has it removed.
func (c *asking) remove(ctx context.Context, conf *config.Config) (reconcile.Result, error) {
	s := c.turn.shard
	if gone, err := s.isGone(ctx, c.ask.Tenant, c.ask.ID); gone || err != nil {
		if err != nil {
			return reconcile.Result{}, err
		}
		return c.done(ctx)
	}
	if !c.ask.Force {
		if reason := s.holds(ctx, c.ask.ID); reason != "" {
			return c.refuse(ctx, fmt.Errorf("it is kept: %s", reason))
		}
		if wait := c.drain(ctx, conf); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
	}
	err := told{s.Manager, s}.DeleteInstanceFor(ctx, c.ask.Tenant, c.ask.ID)
	if err != nil && !errors.Is(err, instances.ErrInstanceNotFound) {
		return reconcile.Result{}, err
	}
	s.wake(ctx, c.ask.ID)
	return c.done(ctx)
}

// holds says why a machine must stay. What is not known is a reason.
func (s *Shard) holds(ctx context.Context, instanceID string) string {
	if s.opts.Holder == nil {
		return ""
	}
	reason, err := s.opts.Holder.Holds(ctx, instanceID)
	if err != nil {
		s.log.WarnContext(ctx, "it is not known whether a machine holds anything", "instance", instanceID, "error", err)
		return "it is not known whether it holds anything"
	}
	return reason
}

// drain empties a machine until the deadline of its group, and says after what time to
// look again; 0 is that it can go.
func (c *asking) drain(ctx context.Context, conf *config.Config) time.Duration {
	s := c.turn.shard
	limit := conf.Shard.Timings.DefaultDrainTimeout
	if merged, err := s.opts.Loader.Merge(config.MergeRequest{Tenant: c.ask.Tenant, Group: c.ask.Group}); err == nil {
		limit = merged.DrainTimeout
	}
	deadline := c.ask.AskedAt.Add(limit.Std())
	if s.opts.Drainer == nil || limit == 0 || !s.opts.Now().Before(deadline) {
		return 0
	}
	c.turn.drain(c.ask.ID, s.opts.Now())
	if err := s.opts.Drainer.Drain(ctx, c.ask.ID, deadline); err != nil {
		s.log.WarnContext(ctx, "a machine is not drained yet", "instance", c.ask.ID, "error", err)
		return time.Second
	}
	if ok, err := s.opts.Drainer.Drained(ctx, c.ask.ID); ok && err == nil {
		return 0
	}
	return time.Second
}

// rotate tells the group, which forgets it when another process leads, until the machine
// goes.
func (c *asking) rotate(ctx context.Context) (reconcile.Result, error) {
	s := c.turn.shard
	gone, err := s.isGone(ctx, c.ask.Tenant, c.ask.ID)
	if err != nil {
		return reconcile.Result{}, err
	}
	if gone {
		return c.done(ctx)
	}
	c.turn.groups.Rotate(c.ask.Tenant, c.ask.Group, c.ask.ID)
	return reconcile.Result{RequeueAfter: 30 * time.Second}, nil
}

// isGone reports whether the store says that a machine goes already, or is not there.
func (s *Shard) isGone(ctx context.Context, tenant, instanceID string) (bool, error) {
	r, err := s.Manager.Record(ctx, tenant, instanceID)
	if errors.Is(err, instances.ErrInstanceNotFound) {
		return true, nil
	}
	return err == nil && r.State.Leaving(), err
}
