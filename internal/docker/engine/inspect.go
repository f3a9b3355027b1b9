package engine

import (
	"context"

	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

// Inspect implements docker.Runtime.
func (c *Client) Inspect(ctx context.Context, name string) (*docker.ContainerState, error) {
	what := "inspect container " + name
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return nil, c.fail(what, err)
	}
	res, err := c.cli.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
	if err != nil {
		return nil, c.fail(what, err)
	}
	return inspected(&res.Container), nil
}

// ExitState implements docker.ExitStateInspector. A container that never
// started has zero times.
func (c *Client) ExitState(ctx context.Context, name string) (*docker.ExitState, error) {
	state, err := c.Inspect(ctx, name)
	if err != nil {
		return nil, err
	}
	return &state.Exit, nil
}

// List implements docker.Runtime.
func (c *Client) List(ctx context.Context, labels map[string]string) ([]docker.ContainerState, error) {
	const what = "list containers"
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return nil, c.fail(what, err)
	}
	res, err := c.cli.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: labelFilter(labels)})
	if err != nil {
		return nil, c.fail(what, err)
	}
	states := make([]docker.ContainerState, len(res.Items))
	for i := range res.Items {
		states[i] = listed(&res.Items[i])
	}
	return states, nil
}

// labelFilter asks for everything that carries all the labels; "" matches any
// value.
func labelFilter(labels map[string]string) client.Filters {
	filters := client.Filters{}
	for key, value := range labels {
		if value == "" {
			filters.Add("label", key)
		} else {
			filters.Add("label", key+"="+value)
		}
	}
	return filters
}
