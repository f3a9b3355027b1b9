package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	moby "github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

func (s *stand) ours() moby.Filters {
	return make(moby.Filters).Add("label", docker.LabelInstance+"="+s.instance)
}

func (s *stand) containers(ctx context.Context) ([]container.Summary, error) {
	list, err := s.engine.ContainerList(ctx, moby.ContainerListOptions{All: true, Filters: s.ours()})
	return list.Items, err
}

// watchEngine turns what happens to our containers into moments, until ctx is
// done. Killing the control plane does not disturb it.
func (s *stand) watchEngine(ctx context.Context, c *clock) {
	moments := map[events.Action]moment{
		events.ActionCreate: atCreate, events.ActionStart: atStart, events.ActionKill: atStop, events.ActionDestroy: atRemove,
	}
	stream := s.engine.Events(ctx, moby.EventsListOptions{Filters: s.ours().Add("type", string(events.ContainerEventType))})
	for {
		select {
		case e := <-stream.Messages:
			if m, ok := moments[e.Action]; ok {
				c.strike(m)
			}
		case err := <-stream.Err:
			if ctx.Err() == nil {
				s.o.say("the engine's events ended: %v", err)
			}
			return
		}
	}
}

// clearEngine removes our containers, networks and images.
func (s *stand) clearEngine(ctx context.Context) error {
	var errs []error
	drop := func(err error) {
		if err != nil && !errdefs.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	if s.instance != "" {
		list, err := s.containers(ctx)
		drop(err)
		for i := range list {
			_, err := s.engine.ContainerRemove(ctx, list[i].ID, moby.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
			drop(err)
		}
		networks, err := s.engine.NetworkList(ctx, moby.NetworkListOptions{Filters: s.ours()})
		drop(err)
		for i := range networks.Items {
			_, err := s.engine.NetworkRemove(ctx, networks.Items[i].ID, moby.NetworkRemoveOptions{})
			drop(err)
		}
	}
	for _, version := range imageVersions {
		_, err := s.engine.ImageRemove(ctx, s.repository+":"+version, moby.ImageRemoveOptions{Force: true})
		drop(err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the engine still has things of ours: %w", err)
	}
	return nil
}
