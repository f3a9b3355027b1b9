package group

import (
	"context"
	"log/slog"
	"time"

	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// soon is when a group is looked at again after something was done.
const soon = 250 * time.Millisecond

// controller does one pass of one group.
type controller struct {
	g      *Groups
	key    config.GroupKey
	memory *memory
	log    *slog.Logger

	now  time.Time
	conf *config.Config
	wait time.Duration // 0: nobody asked to be called again
}

var _ reconcile.Controller = (*controller)(nil)

// Name implements reconcile.Controller.
func (c *controller) Name() string { return Key(c.key.Tenant, c.key.Group).String() }

// again asks for another pass after a time; the earliest one stands.
func (c *controller) again(d time.Duration) {
	if d = max(d, time.Millisecond); c.wait == 0 || d < c.wait {
		c.wait = d
	}
}

// Reconcile implements reconcile.Controller: observe, plan, execute, once.
func (c *controller) Reconcile(ctx context.Context) (reconcile.Result, error) {
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	c.now = c.g.opts.Now()
	if c.conf = c.g.opts.Configs.Current(); c.conf == nil {
		return unknown(), config.ErrNotLoaded
	}
	want, err := c.want(c.conf)
	if err != nil {
		return unknown(), err
	}
	o, err := c.observe(ctx, want, timingOf(c.conf))
	if err != nil {
		return reconcile.Result{}, err
	}
	d := Plan(*o)
	for range len(o.Members) {
		if len(d.Ask) == 0 {
			break
		}
		c.hold(ctx, o, d.Ask)
		d = Plan(*o)
	}
	if ctx.Err() != nil {
		return reconcile.Result{}, ctx.Err()
	}
	done, err := c.execute(ctx, &d)
	if done > 0 {
		c.again(soon)
	}
	if !d.Next.IsZero() {
		c.again(d.Next.Sub(c.now))
	}
	o.Launch = c.memory.launch
	if at := c.memory.launch.NotBefore; at.After(c.now) && d.Summary.Staying < d.Summary.Size {
		c.again(at.Sub(c.now))
	}
	return reconcile.Result{Conditions: conditions(o, &d), RequeueAfter: c.wait}, err
}
