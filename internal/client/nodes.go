package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/berth-cloud/berth/internal/wire"
)

// Nodes lists the machines that apps run on.
func (c *Client) Nodes(ctx context.Context) (wire.NodeList, error) {
	var out wire.NodeList
	return out, c.call(ctx, http.MethodGet, "/v1/nodes", nil, nil, &out)
}

// Node is one node, by its id, its name or the beginning of its id.
func (c *Client) Node(ctx context.Context, node string) (wire.Node, error) {
	var out wire.Node
	return out, c.call(ctx, http.MethodGet, nodePath(node), nil, nil, &out)
}

// SetCordon says whether something new may be placed on a node.
func (c *Client) SetCordon(ctx context.Context, node string, on bool) (wire.Node, error) {
	verb := "/uncordon"
	if on {
		verb = "/cordon"
	}
	var out wire.Node
	return out, c.call(ctx, http.MethodPost, nodePath(node)+verb, nil, nil, &out)
}

// DrainNode begins to empty a node. Zero is no deadline; less than a second is one.
func (c *Client) DrainNode(ctx context.Context, node string, deadline time.Duration) (wire.DrainPlan, error) {
	var out wire.DrainPlan
	seconds := int64((deadline + time.Second - 1) / time.Second)
	return out, c.call(ctx, http.MethodPost, nodePath(node)+"/drain", nil, wire.DrainRequest{DeadlineSeconds: seconds}, &out)
}

// UndrainNode ends the emptying of a node.
func (c *Client) UndrainNode(ctx context.Context, node string) (wire.Node, error) {
	var out wire.Node
	return out, c.call(ctx, http.MethodPost, nodePath(node)+"/undrain", nil, nil, &out)
}

// CheckNode looks at every hop to a node.
func (c *Client) CheckNode(ctx context.Context, node string) (wire.NodeDoctor, error) {
	var out wire.NodeDoctor
	return out, c.call(ctx, http.MethodGet, nodePath(node)+"/doctor", nil, nil, &out)
}

// JoinNode makes a token by which a host joins.
func (c *Client) JoinNode(ctx context.Context, req wire.JoinRequest) (wire.JoinToken, error) {
	var out wire.JoinToken
	return out, c.call(ctx, http.MethodPost, "/v1/nodes", nil, req, &out)
}

// RemoveNode has a joined host be a node no more, and answers with what it was.
func (c *Client) RemoveNode(ctx context.Context, node string) (wire.Node, error) {
	var out wire.Node
	return out, c.call(ctx, http.MethodDelete, nodePath(node), nil, nil, &out)
}

func nodePath(node string) string { return "/v1/nodes/" + url.PathEscape(node) }
