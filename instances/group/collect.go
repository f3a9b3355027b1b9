package group

import (
	"context"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// collectTimeout bounds one collection.
const collectTimeout = 4 * time.Minute

// collector runs the manager's Collect at the shard's interval.
type collector struct{ g *Groups }

var _ reconcile.Controller = collector{}

// Name implements reconcile.Controller.
func (collector) Name() string { return CollectKey().String() }

// Reconcile implements reconcile.Controller. When machines were found to be otherwise
// than known, all groups are looked at.
func (c collector) Reconcile(ctx context.Context) (reconcile.Result, error) {
	conf := c.g.opts.Configs.Current()
	if conf == nil {
		return reconcile.Result{}, nil
	}
	interval := conf.Shard.GC.Interval.Std()
	if interval <= 0 {
		return reconcile.Result{Conditions: []reconcile.Condition{
			condition(reconcile.ConditionReady, false, "Off", "the configuration says that nothing is collected"),
		}, RequeueAfter: time.Minute}, nil
	}
	now := c.g.opts.Now()
	if last, at := c.g.lastCollect(); !at.IsZero() && now.Sub(at) < interval {
		// Woken by what wakes every key: two looks too close together are one.
		return reconcile.Result{Conditions: []reconcile.Condition{collected(last)}, RequeueAfter: interval - now.Sub(at)}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	report, err := c.g.opts.Collector.Collect(ctx)
	if report.Adopted+report.Abandoned+report.Unregistered+report.Vanished+report.Continued > 0 {
		c.g.kickAll(ctx)
	}
	if err != nil {
		return reconcile.Result{Conditions: []reconcile.Condition{
			condition(reconcile.ConditionReady, false, "Failed", "records and machines could not all be compared; it is tried again"),
		}}, err
	}
	c.g.collectDone(report, now)
	return reconcile.Result{Conditions: []reconcile.Condition{collected(report)}, RequeueAfter: interval}, nil
}

func collected(r instances.CollectReport) reconcile.Condition {
	if r.Left > 0 {
		return condition(reconcile.ConditionReady, true, "AtItsCap", "%d more would have been removed; see gc.max_deletes", r.Left)
	}
	return condition(reconcile.ConditionReady, true, "Collected", "records and machines were compared")
}

// lastCollect is the last collection that succeeded, and when it began.
func (g *Groups) lastCollect() (instances.CollectReport, time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.report, g.collectedAt
}

func (g *Groups) collectDone(r instances.CollectReport, at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.report, g.collectedAt = r, at
}
