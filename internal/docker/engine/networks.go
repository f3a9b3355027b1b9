package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

// CreateNetwork implements docker.Runtime. The gateway is the subnet's first
// address, said openly so that a listing shows it.
func (c *Client) CreateNetwork(ctx context.Context, spec docker.NetworkSpec) (string, error) {
	what := fmt.Sprintf("create network %s (%s)", spec.Name, spec.Subnet)
	if spec.Name == "" || !spec.Subnet.IsValid() {
		return "", fmt.Errorf("%s: %w: it needs a name and a subnet", what, docker.ErrInvalid)
	}
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return "", c.fail(what, err)
	}
	subnet := spec.Subnet.Masked()
	var options map[string]string
	if spec.Bridge != "" {
		options = map[string]string{"com.docker.network.bridge.name": spec.Bridge}
	}
	res, err := c.cli.NetworkCreate(ctx, spec.Name, client.NetworkCreateOptions{
		Driver: "bridge",
		IPAM: &network.IPAM{
			Driver: "default",
			Config: []network.IPAMConfig{{Subnet: subnet, Gateway: subnet.Addr().Next()}},
		},
		Labels:  spec.Labels,
		Options: options,
	})
	if err != nil {
		return "", c.fail(what, err)
	}
	c.warn(ctx, what, res.Warning)
	return res.ID, nil
}

// ListNetworks implements docker.Runtime. Two calls, however many networks:
// the engine's network listing leaves out who is attached, its container
// listing does not.
func (c *Client) ListNetworks(ctx context.Context, labels map[string]string) ([]docker.NetworkDetail, error) {
	const what = "list networks"
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return nil, c.fail(what, err)
	}
	nets, err := c.cli.NetworkList(ctx, client.NetworkListOptions{Filters: labelFilter(labels)})
	if err != nil {
		return nil, c.fail(what, err)
	}
	running, err := c.cli.ContainerList(ctx, client.ContainerListOptions{})
	if err != nil {
		return nil, c.fail(what, err)
	}
	attached := attachments(running.Items)
	out := make([]docker.NetworkDetail, len(nets.Items))
	for i := range nets.Items {
		out[i] = networkDetail(&nets.Items[i].Network)
		out[i].Attached = attached[out[i].ID]
	}
	return out, nil
}

func networkDetail(n *network.Network) docker.NetworkDetail {
	d := docker.NetworkDetail{ID: n.ID, Name: n.Name, Driver: n.Driver, Labels: n.Labels, Created: n.Created}
	for _, cfg := range n.IPAM.Config {
		if cfg.Subnet.IsValid() {
			d.Subnets = append(d.Subnets, cfg.Subnet)
		}
		if !d.Gateway.IsValid() {
			d.Gateway = cfg.Gateway
		}
	}
	return d
}

// attachments groups running containers by the id of each of their networks.
func attachments(running []container.Summary) map[string][]docker.NetworkMember {
	out := map[string][]docker.NetworkMember{}
	for i := range running {
		s := &running[i]
		if s.NetworkSettings == nil {
			continue
		}
		for _, e := range s.NetworkSettings.Networks {
			if e == nil || e.NetworkID == "" {
				continue
			}
			out[e.NetworkID] = append(out[e.NetworkID], docker.NetworkMember{
				ContainerID: s.ID, Name: ownName(s.Names), Address: e.IPAddress,
			})
		}
	}
	return out
}

// RemoveNetwork implements docker.Runtime.
func (c *Client) RemoveNetwork(ctx context.Context, name string) error {
	what := "remove network " + name
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return c.fail(what, err)
	}
	_, err := c.cli.NetworkRemove(ctx, name, client.NetworkRemoveOptions{})
	if err == nil {
		return nil
	}
	if err = c.fail(what, err); errors.Is(err, docker.ErrNotFound) {
		return nil
	}
	return err
}
