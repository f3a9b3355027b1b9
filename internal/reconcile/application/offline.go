package application

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/store"
)

// NodeOfflineController stands in for the Controller of a service all of whose nodes are
// out of reach: its condition takes the place of one that may have said that it serves. It
// touches nothing; what runs there goes on.
type NodeOfflineController struct {
	service, node string
	since         time.Time
}

var _ reconcile.Controller = (*NodeOfflineController)(nil)

// NewNodeOfflineController builds the stand-in. since is when the node was last heard of,
// zero when that is not known.
func NewNodeOfflineController(serviceName, nodeName string, since time.Time) *NodeOfflineController {
	return &NodeOfflineController{service: serviceName, node: nodeName, since: since}
}

// Name is that of the service's Controller.
func (c *NodeOfflineController) Name() string { return ControllerName(c.service) }

// Reconcile says that the node is offline, and asks for another pass: whoever watches
// nodes wakes the service earlier.
func (c *NodeOfflineController) Reconcile(context.Context) (reconcile.Result, error) {
	heard := "nothing was heard of it since this control plane began"
	if !c.since.IsZero() {
		heard = "last heard of at " + c.since.UTC().Format(time.RFC3339)
	}
	res := result(reconcile.False, ReasonNodeOffline, fmt.Sprintf("node %s is offline, %s; what it runs is left alone", c.node, heard))
	res.RequeueAfter = DefaultTiming().Recheck
	return res, nil
}

// NodeAwaitedController stands in for the Controller of a service that is not placed anew
// until a node is back that is expected in a moment.
type NodeAwaitedController struct{ service, why string }

var _ reconcile.Controller = (*NodeAwaitedController)(nil)

// awaitedRecheck is when it is looked at again.
const awaitedRecheck = time.Second

// NewNodeAwaitedController builds the stand-in; why is a sentence for people.
func NewNodeAwaitedController(serviceName, why string) *NodeAwaitedController {
	return &NodeAwaitedController{service: serviceName, why: why}
}

// Name is that of the service's Controller.
func (c *NodeAwaitedController) Name() string { return ControllerName(c.service) }

// Reconcile says what is waited for, and asks for another pass.
func (c *NodeAwaitedController) Reconcile(context.Context) (reconcile.Result, error) {
	res := result(reconcile.Unknown, ReasonNodeRecovering, c.why)
	res.RequeueAfter = awaitedRecheck
	return res, nil
}

// NoNodeController stands in for the Controller of a service whose app there is no node
// for. What it runs already goes on. A change that waits for one fails after a while.
type NoNodeController struct {
	service, why string
	attempt      int64
	store        ServiceStore
	now          func() time.Time
}

var _ reconcile.Controller = (*NoNodeController)(nil)

// noNodePatience is how long a change waits for a node: after a start of the control
// plane, nodes come back one after the other.
const noNodePatience = 30 * time.Second

// NewNoNodeController builds the stand-in; why is a sentence for people, attempt the
// newest one of the service.
func NewNoNodeController(serviceName string, attempt int64, st ServiceStore, why string) *NoNodeController {
	return &NoNodeController{service: serviceName, why: why, attempt: attempt, store: st, now: time.Now}
}

// Name is that of the service's Controller.
func (c *NoNodeController) Name() string { return ControllerName(c.service) }

// Reconcile says why there is none, and asks for another pass.
func (c *NoNodeController) Reconcile(ctx context.Context) (reconcile.Result, error) {
	res := result(reconcile.False, ReasonNoNode, c.why)
	res.RequeueAfter = DefaultTiming().Recheck
	a, err := c.store.GetAttempt(ctx, c.attempt)
	if errors.Is(err, store.ErrNotFound) || err == nil && c.now().Before(a.CreatedAt.Add(noNodePatience)) {
		return res, nil
	}
	if err != nil {
		return res, storeError("read the attempt of "+c.service, err)
	}
	for _, u := range a.Services {
		if u.Service != c.service || u.State.Final() {
			continue
		}
		u.State, u.Reason, u.Message, u.UpdatedAt = store.AttemptFailed, string(ReasonNoNode), c.why, c.now()
		if err := c.store.UpdateAttemptService(ctx, u); err != nil {
			return res, storeError("fail the attempt of "+c.service, err)
		}
	}
	return res, nil
}
