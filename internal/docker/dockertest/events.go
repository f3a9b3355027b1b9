package dockertest

import (
	"context"
	"fmt"
	"maps"

	"github.com/berth-cloud/berth/internal/docker"
)

// maxQueued bounds what waits for one slow subscriber; past it the stream
// breaks, as it does on a real connection.
const maxQueued = 1 << 14

// subscription is one caller of Events.
type subscription struct {
	labels map[string]string
	queue  []docker.Event
	broken bool
	wake   chan struct{}
}

func (s *subscription) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Events implements docker.Runtime.
func (e *Engine) Events(ctx context.Context, labels map[string]string, ready func(), fn func(docker.Event)) error {
	sub := &subscription{labels: maps.Clone(labels), wake: make(chan struct{}, 1)}
	err := e.call(ctx, CallEvents, "", func(f *fault) error {
		e.subs[sub] = struct{}{}
		if f.lies() {
			sub.broken = true
		}
		return nil
	})
	defer e.unsubscribe(sub)
	if err != nil {
		return err
	}
	if ready != nil {
		ready()
	}
	for {
		queue, broken := e.take(sub)
		for _, ev := range queue {
			if err := ctx.Err(); err != nil {
				return err
			}
			fn(ev)
		}
		if broken {
			return fmt.Errorf("event stream broke: %w", docker.ErrUnavailable)
		}
		select {
		case <-sub.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (e *Engine) take(s *subscription) (queue []docker.Event, broken bool) {
	e.clock.lock()
	defer e.clock.unlock()
	queue, s.queue = s.queue, nil
	return queue, s.broken
}

func (e *Engine) unsubscribe(s *subscription) {
	e.clock.lock()
	defer e.clock.unlock()
	delete(e.subs, s)
}

// OnEvent calls fn for every container event, on the goroutine that caused it
// and after the engine has let go of its lock, so that a single-threaded test
// needs no subscriber. fn may call the engine but not move its clock.
func (e *Engine) OnEvent(fn func(docker.Event)) {
	e.clock.lock()
	defer e.clock.unlock()
	e.onEvent = append(e.onEvent, fn)
}

func (e *Engine) emit(c *container, action docker.EventAction) {
	if len(e.subs) == 0 && len(e.onEvent) == 0 {
		return
	}
	ev := docker.Event{Time: e.now(), Action: action, ContainerID: c.id, Name: c.spec.Name}
	if action == docker.EventDie {
		ev.ExitCode = c.code
	}
	for s := range e.subs {
		if s.broken || !carries(c.spec.Labels, s.labels) {
			continue
		}
		if len(s.queue) == maxQueued {
			s.broken = true
		} else {
			ev.Labels = maps.Clone(c.spec.Labels)
			s.queue = append(s.queue, ev)
		}
		s.poke()
	}
	for _, fn := range e.onEvent {
		ev := ev
		ev.Labels = maps.Clone(c.spec.Labels)
		e.clock.later(func() { fn(ev) })
	}
}

// breakStreams ends every subscription, every followed log and the attachment
// to every command.
func (e *Engine) breakStreams() {
	e.epoch++
	close(e.broke)
	e.broke = make(chan struct{})
	e.clock.changed = true
	for s := range e.subs {
		s.broken = true
		s.poke()
	}
}
