package application

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/reconcile"
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

// NoNodeController stands in for the Controller of a service whose app there is no node
// for. What it runs already goes on.
type NoNodeController struct{ service, why string }

var _ reconcile.Controller = (*NoNodeController)(nil)

// NewNoNodeController builds the stand-in; why is a sentence for people.
func NewNoNodeController(serviceName, why string) *NoNodeController {
	return &NoNodeController{service: serviceName, why: why}
}

// Name is that of the service's Controller.
func (c *NoNodeController) Name() string { return ControllerName(c.service) }

// Reconcile says why there is none, and asks for another pass.
func (c *NoNodeController) Reconcile(context.Context) (reconcile.Result, error) {
	res := result(reconcile.False, ReasonNoNode, c.why)
	res.RequeueAfter = DefaultTiming().Recheck
	return res, nil
}
