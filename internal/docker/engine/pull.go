package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

// Pull implements docker.Runtime. It lasts as long as ctx allows.
func (c *Client) Pull(ctx context.Context, ref string, auth *docker.RegistryAuth, progress func(docker.PullProgress)) error {
	what := "pull image " + ref
	var opts client.ImagePullOptions
	if auth != nil {
		encoded, err := authconfig.Encode(registry.AuthConfig{
			Username: auth.Username, Password: auth.Password, ServerAddress: auth.ServerAddress,
		})
		if err != nil {
			return fmt.Errorf("%s: %w: credentials cannot be encoded", what, docker.ErrInvalid)
		}
		opts.RegistryAuth = encoded
	}
	if err := c.negotiate(ctx); err != nil {
		return c.fail(what, err)
	}
	stream, err := c.cli.ImagePull(ctx, ref, opts)
	if err != nil {
		return c.failPull(what, err)
	}
	defer stream.Close()
	for step, err := range stream.JSONMessages(ctx) {
		if err != nil {
			return c.failSlow(what, err)
		}
		if step.Error != nil {
			return &failure{what: what, sentinel: classifyPull(step.Error), cause: step.Error}
		}
		if progress == nil {
			continue
		}
		p := docker.PullProgress{Layer: step.ID, Status: step.Status}
		if step.Progress != nil {
			p.Current, p.Total = step.Progress.Current, step.Progress.Total
		}
		progress(p)
	}
	if err := ctx.Err(); err != nil {
		return c.failSlow(what, err)
	}
	return nil
}

func (c *Client) failPull(what string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || unreachable(err) {
		return c.failSlow(what, err)
	}
	return &failure{what: what, sentinel: classifyPull(err), cause: err}
}
