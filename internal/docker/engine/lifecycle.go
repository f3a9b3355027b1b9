package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

// Create implements docker.Runtime.
func (c *Client) Create(ctx context.Context, spec docker.ContainerSpec) (string, error) {
	what := "create container " + spec.Name
	opts, err := createOptions(spec)
	if err != nil {
		return "", fmt.Errorf("%s: %w: %w", what, docker.ErrInvalid, err)
	}
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return "", c.fail(what, err)
	}
	res, err := c.cli.ContainerCreate(ctx, opts)
	if err != nil {
		return "", c.fail(what, err)
	}
	c.warn(ctx, what, res.Warnings)
	return res.ID, nil
}

// Start implements docker.Runtime.
func (c *Client) Start(ctx context.Context, name string) error {
	what := "start container " + name
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return c.fail(what, err)
	}
	if _, err := c.cli.ContainerStart(ctx, name, client.ContainerStartOptions{}); err != nil {
		if leftTask.MatchString(err.Error()) {
			return &failure{what: what, sentinel: docker.ErrWedged, cause: err}
		}
		return c.fail(what, err)
	}
	return nil
}

// leftTask is how engines word that containerd still has what they know nothing
// of any more: they were killed between having it made and noting it down.
// Engines from version 24 on clean up by themselves.
var leftTask = regexp.MustCompile(`(?:task|container) "?[0-9a-f]{64}"?: already exists|container with (?:given )?id already exists|\bid already in use`)

// Stop implements docker.Runtime.
func (c *Client) Stop(ctx context.Context, name string, grace time.Duration) error {
	what := "stop container " + name
	seconds := int((max(grace, 0) + time.Second - 1) / time.Second)
	ctx, cancel := context.WithTimeout(ctx, c.callTimeout+time.Duration(seconds)*time.Second)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return c.fail(what, err)
	}
	if _, err := c.cli.ContainerStop(ctx, name, client.ContainerStopOptions{Timeout: &seconds}); err != nil {
		return c.failSlow(what, err)
	}
	return nil
}

// Signal implements docker.Runtime.
func (c *Client) Signal(ctx context.Context, name, signal string) error {
	what := "signal container " + name
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return c.fail(what, err)
	}
	if _, err := c.cli.ContainerKill(ctx, name, client.ContainerKillOptions{Signal: signal}); err != nil {
		return c.fail(what, err)
	}
	return nil
}

// Remove implements docker.Runtime. It never forces: a running container is
// the engine's to refuse.
func (c *Client) Remove(ctx context.Context, name string) error {
	what := "remove container " + name
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return c.fail(what, err)
	}
	_, err := c.cli.ContainerRemove(ctx, name, client.ContainerRemoveOptions{RemoveVolumes: true})
	if err != nil && strings.Contains(err.Error(), "is already in progress") {
		err = c.awaitRemoval(ctx, name)
	}
	if err == nil {
		return nil
	}
	if err = c.fail(what, err); errors.Is(err, docker.ErrNotFound) {
		return nil
	}
	return err
}

// awaitRemoval waits for a removal that another call began.
func (c *Client) awaitRemoval(ctx context.Context, name string) error {
	wait := c.cli.ContainerWait(ctx, name, client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
	select {
	case err := <-wait.Error:
		return err
	case res := <-wait.Result:
		if res.Error != nil {
			return errors.New(res.Error.Message)
		}
		return nil
	}
}

// Update implements docker.Runtime.
func (c *Client) Update(ctx context.Context, name string, change docker.ContainerUpdate) error {
	what := "update container " + name
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return c.fail(what, err)
	}
	var opts client.ContainerUpdateOptions
	if change.Restart != nil {
		policy := restartPolicy(*change.Restart)
		opts.RestartPolicy = &policy
	}
	if change.Resources != nil {
		limits := resources(*change.Resources)
		opts.Resources = &limits
	}
	res, err := c.cli.ContainerUpdate(ctx, name, opts)
	if err != nil {
		return c.fail(what, err)
	}
	c.warn(ctx, what, res.Warnings)
	return nil
}

func (c *Client) warn(ctx context.Context, what string, warnings []string) {
	for _, w := range warnings {
		c.log.WarnContext(ctx, "engine warning", "call", what, "warning", w)
	}
}
