package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

// Events implements docker.Runtime.
//
// An engine answers the request a moment before it subscribes, so what happens
// in between would be lost. The subscription therefore begins at a time read
// from the engine's own clock just before, and the engine replays from there.
func (c *Client) Events(ctx context.Context, labels map[string]string, ready func(), fn func(docker.Event)) error {
	const what = "watch events"
	since, err := c.engineTime(ctx)
	if err != nil {
		return c.fail(what, err)
	}
	ctx, opened, cancel := c.opening(ctx)
	defer cancel()
	ctx = context.WithValue(ctx, streamBegan{}, sync.OnceFunc(func() {
		opened()
		if ready != nil {
			ready()
		}
	}))
	filters := labelFilter(labels).Add("type", string(events.ContainerEventType)).Add("event",
		string(docker.EventCreate), string(docker.EventStart), string(docker.EventDie),
		string(docker.EventOOM), string(docker.EventPause), string(docker.EventUnpause), string(docker.EventDestroy))
	stream := c.cli.Events(ctx, client.EventsListOptions{Since: since, Filters: filters})
	for {
		select {
		case m := <-stream.Messages:
			if e, ok := event(&m); ok {
				fn(e)
			}
		case err := <-stream.Err:
			if err == nil {
				err = errors.New("the stream ended")
			}
			return c.failStream(ctx, what, err)
		}
	}
}

// engineTime is the engine's clock as a filter value.
func (c *Client) engineTime(ctx context.Context) (string, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return "", err
	}
	res, err := c.cli.Info(ctx, client.InfoOptions{})
	if err != nil {
		return "", err
	}
	now, err := time.Parse(time.RFC3339Nano, res.Info.SystemTime)
	if err != nil {
		return "", fmt.Errorf("engine time %q: %w", res.Info.SystemTime, err)
	}
	return filterTime(now), nil
}

// filterTime writes a time as the engine's filters read it, to the nanosecond.
func filterTime(t time.Time) string {
	return fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond())
}

// event translates a message; ok is false for an action nobody asked for.
func event(m *events.Message) (docker.Event, bool) {
	e := docker.Event{
		Time:        time.Unix(0, m.TimeNano),
		Action:      docker.EventAction(m.Action),
		ContainerID: m.Actor.ID,
		Labels:      map[string]string{},
	}
	switch e.Action {
	case docker.EventCreate, docker.EventStart, docker.EventDie, docker.EventOOM,
		docker.EventPause, docker.EventUnpause, docker.EventDestroy:
	default:
		return docker.Event{}, false
	}
	// The engine puts labels and its own attributes into one map.
	for key, value := range m.Actor.Attributes {
		switch key {
		case "name":
			e.Name = value
		case "exitCode":
			e.ExitCode, _ = strconv.Atoi(value)
		case "image", "signal", "execDuration":
		default:
			e.Labels[key] = value
		}
	}
	return e, true
}
