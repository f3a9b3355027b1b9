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
