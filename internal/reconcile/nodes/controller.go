package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/fleet"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// The reasons of a node's condition, beside application.ReasonNodeOffline.
const (
	ReasonConnected = "Connected"
	ReasonDraining  = "Draining"
	ReasonDrained   = "Drained"
	ReasonLeftovers = "Leftovers" // what runs elsewhere by now is still being removed there
	ReasonGone      = "Gone"
)

// again is how long after a look at a node that something is waited for on comes the next.
const again = 2 * time.Second

// Keys are those of all nodes that joined, and of all that rows tell of.
func (n *Nodes) Keys(ctx context.Context) ([]reconcile.Key, error) {
	r, err := n.roster(ctx)
	if err != nil {
		return nil, err
	}
	var keys []reconcile.Key
	for id := range r.members {
		keys = append(keys, Key(id))
	}
	for id := range r.rows {
		if _, ok := r.members[id]; !ok {
			keys = append(keys, Key(id))
		}
	}
	return keys, nil
}

// Controller looks after the node of a key; nil: there is none, and nothing is left of it.
func (n *Nodes) Controller(ctx context.Context, name string) (reconcile.Controller, error) {
	id := name
	if name == spec.LocalNode {
		id = ""
	}
	r, err := n.roster(ctx)
	if err != nil {
		return nil, err
	}
	_, joined := r.members[id]
	row, kept := r.rows[id]
	if !joined && !kept {
		return nil, nil //nolint:nilnil // the factory's word for a key that is no more
	}
	return &controller{n: n, id: id, r: r, row: row}, nil
}

type controller struct {
	n   *Nodes
	id  string
	r   *roster
	row store.Node
}

func (c *controller) Name() string { return Key(c.id).String() }

func (c *controller) Reconcile(ctx context.Context) (reconcile.Result, error) {
	switch since, offline := c.r.offline(c.id); {
	case c.r.gone(c.id):
		return c.gone(ctx)
	case offline:
		return c.offline(ctx, since)
	}
	return c.online(ctx)
}

// gone lets go of a machine that is no more.
func (c *controller) gone(ctx context.Context) (reconcile.Result, error) {
	apps, err := c.placed(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	c.wake(apps)
	if len(apps) == 0 {
		return reconcile.Result{}, c.n.opts.Store.DeleteNode(ctx, c.id)
	}
	res := condition(reconcile.False, ReasonGone, "the machine is gone; what it ran is started elsewhere, but for what had volumes there")
	res.RequeueAfter = application.DefaultTiming().Recheck
	return res, nil
}

// offline notes since when, and wakes the apps that have waited for long enough.
func (c *controller) offline(ctx context.Context, since time.Time) (reconcile.Result, error) {
	now := c.n.opts.Now()
	if c.row.OfflineSince.IsZero() {
		if since.IsZero() {
			since = now
		}
		if err := c.n.note(ctx, c.id, func(row *store.Node) { row.OfflineSince = since }); err != nil {
			return reconcile.Result{}, err
		}
	}
	apps, err := c.placed(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	res := condition(reconcile.False, string(application.ReasonNodeOffline), fmt.Sprintf("not heard of since %s; what it runs is left alone", since.UTC().Format(time.RFC3339)))
	for _, services := range apps {
		after, moves := movesAfter(services)
		if !moves {
			continue
		}
		wait := c.n.watched(since).Add(after).Sub(now)
		if wait <= 0 {
			c.wake([][]store.DesiredService{services})
			wait = again
		}
		if res.RequeueAfter == 0 || wait < res.RequeueAfter {
			res.RequeueAfter = wait
		}
	}
	return res, nil
}

// online takes a node back, and goes on with its drain.
func (c *controller) online(ctx context.Context) (reconcile.Result, error) {
	if !c.row.OfflineSince.IsZero() {
		c.n.opts.Back(c.id)
		if err := c.n.note(ctx, c.id, func(row *store.Node) { row.OfflineSince = time.Time{} }); err != nil {
			return reconcile.Result{}, err
		}
		apps, err := c.placed(ctx)
		if err != nil {
			return reconcile.Result{}, err
		}
		c.wake(apps)
	}
	waiting, err := c.tidy(ctx)
	if err != nil {
		return reconcile.Result{RequeueAfter: again}, err
	}
	if len(waiting) > 0 {
		res := condition(reconcile.True, ReasonLeftovers, "what runs elsewhere by now is still here: "+strings.Join(waiting, "; "))
		res.RequeueAfter = again
		return res, nil
	}
	if c.id != "" {
		if err := c.n.check(ctx, c.id, c.row); err != nil {
			return reconcile.Result{RequeueAfter: again}, err
		}
	}
	if !c.row.DrainingSince.IsZero() {
		return c.drain(ctx)
	}
	return condition(reconcile.True, ReasonConnected, "its agent is connected"), nil
}

// tidy removes what was given up here while the node was away.
func (c *controller) tidy(ctx context.Context) (waiting []string, err error) {
	if c.id == "" {
		return nil, nil // it is never away
	}
	all, err := c.n.opts.Store.ListPlacements(ctx)
	if err != nil {
		return nil, err
	}
	byApp := map[string]store.Placement{}
	for _, p := range all {
		byApp[p.AppID] = p
	}
	swept, err := c.n.opts.Fleet.Sweep(ctx, c.id, fleet.Sweeping{
		Placed:  func(app string) (store.Placement, bool) { p, ok := byApp[app]; return p, ok },
		Desired: c.n.desired,
	})
	if err != nil || len(swept.Waiting) > 0 {
		return swept.Waiting, err
	}
	return nil, c.takeBack(ctx, all)
}

// takeBack counts what the apps have on the node again.
func (c *controller) takeBack(ctx context.Context, all []store.Placement) error {
	for _, p := range all {
		if !slices.Contains(p.Lost, c.id) {
			continue
		}
		if err := c.n.found(ctx, p.AppID, c.id); err != nil {
			return err
		}
		services, err := c.n.opts.Store.ListDesiredServices(ctx, p.AppID)
		if err != nil {
			return err
		}
		c.wake([][]store.DesiredService{services})
	}
	return nil
}

// found takes a node off those that were given up for an app.
func (n *Nodes) found(ctx context.Context, app, id string) error {
	n.deciding.Lock()
	defer n.deciding.Unlock()
	p, err := n.opts.Store.PlacementOf(ctx, app)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	p.Lost = slices.DeleteFunc(p.Lost, func(l string) bool { return l == id })
	return n.opts.Store.SavePlacement(ctx, p)
}

// desired reports whether a service is somebody's still.
func (n *Nodes) desired(ctx context.Context, service string) (bool, error) {
	_, err := n.opts.Store.GetDesiredService(ctx, service)
	if err == nil || !errors.Is(err, store.ErrServiceNotFound) {
		return true, err
	}
	pending, err := n.opts.Store.ListPendingTeardowns(ctx)
	return slices.ContainsFunc(pending, func(t store.PendingTeardown) bool { return t.Name == service }), err
}

func (c *controller) drain(ctx context.Context) (reconcile.Result, error) {
	plan, err := c.n.On(ctx, c.id)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := c.n.moveAll(ctx, plan.Moves); err != nil {
		return reconcile.Result{}, err
	}
	done, err := c.n.Drained(ctx, c.id)
	if err != nil {
		return reconcile.Result{}, err
	}
	if done {
		return condition(reconcile.True, ReasonDrained, "nothing runs on it any more"), nil
	}
	text := "what it runs is being moved"
	for _, s := range plan.Stays {
		text += fmt.Sprintf("; app %s stays: %s", s.App, s.Why)
	}
	res := condition(reconcile.True, ReasonDraining, text)
	res.RequeueAfter = again
	return res, nil
}

// placed are the services of the apps that are placed on the node, by app.
func (c *controller) placed(ctx context.Context) ([][]store.DesiredService, error) {
	all, err := c.n.opts.Store.ListPlacements(ctx)
	if err != nil {
		return nil, err
	}
	var out [][]store.DesiredService
	for _, p := range all {
		if !slices.Contains(p.Nodes, c.id) {
			continue
		}
		services, err := c.n.opts.Store.ListDesiredServices(ctx, p.AppID)
		if err != nil {
			return nil, err
		}
		if len(services) > 0 {
			out = append(out, services)
		}
	}
	return out, nil
}

func (c *controller) wake(apps [][]store.DesiredService) {
	for _, services := range apps {
		for i := range services {
			c.n.opts.Wake(services[i].Name)
		}
	}
}

func condition(status reconcile.ConditionStatus, reason, message string) reconcile.Result {
	return reconcile.Result{Conditions: []reconcile.Condition{{Type: reconcile.ConditionReady, Status: status, Reason: reason, Message: message}}}
}
