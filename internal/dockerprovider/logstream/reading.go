package logstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

// reading is one query under way.
type reading struct {
	rt   Runtime
	q    Query
	seen *seen
}

func (r *reading) run(ctx context.Context, fn func(line) error) error {
	if r.q.Follow {
		return r.follow(ctx, fn)
	}
	_, err := r.backlog(ctx, fn)
	return err
}

// list is the containers that the query is about.
func (r *reading) list(ctx context.Context) ([]docker.ContainerState, error) {
	all := slices.Clone(r.q.Listed)
	if all == nil || r.q.Follow {
		var err error
		if all, err = r.rt.List(ctx, r.q.Labels); err != nil {
			return nil, fmt.Errorf("list containers: %w", err)
		}
	}
	all = slices.DeleteFunc(all, func(c docker.ContainerState) bool {
		_, ok := r.q.Origin(c.Name, c.Labels)
		return !ok
	})
	if len(all) > maxContainers {
		return nil, fmt.Errorf("%d containers: %w", len(all), errTooMany)
	}
	return all, nil
}

// backlog delivers what is there already, in the order of time, and returns the
// containers it looked at. These are listed before kept logs are read: one that
// is removed in between is then found kept.
func (r *reading) backlog(ctx context.Context, fn func(line) error) ([]docker.ContainerState, error) {
	containers, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := r.kept(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	m := &merge{}
	defer m.wait() // readers end with the context and are waited for, whatever happens
	defer cancel()
	live := map[string]time.Time{}
	for _, c := range containers {
		live[c.Name] = c.Created
		m.add(ctx, r.readContainer(c))
	}
	for _, k := range kept {
		// A name comes back when a release does. What was kept of the container
		// that has the name now is read from that container.
		if created, ok := live[k.Container]; !ok || k.Started.Before(created) {
			m.add(ctx, r.readKept(k, r.q.Since))
		}
	}
	return containers, m.run(ctx, fn)
}

func (r *reading) kept(ctx context.Context) ([]store.KeptLog, error) {
	if r.q.Kept == nil {
		return nil, nil
	}
	kept, err := r.q.Kept(ctx)
	return kept, err
}

// reader calls fn for each of its lines, in order.
type reader func(ctx context.Context, fn func(line) error) error

// readContainer reads what a container has printed until now.
func (r *reading) readContainer(c docker.ContainerState) reader {
	return func(ctx context.Context, fn func(line) error) error {
		origin, _ := r.q.Origin(c.Name, c.Labels)
		opts := docker.LogOptions{Since: r.q.Since, Tail: r.q.Tail}
		err := r.rt.Logs(ctx, c.ID, opts, func(l docker.LogLine) error {
			r.seen.note(c.Name, l.Time)
			return fn(line{l, origin, c.Name})
		})
		if errors.Is(err, docker.ErrNotFound) {
			return r.readRemoved(ctx, c.Name, fn)
		}
		if err != nil {
			return fmt.Errorf("read the log of container %s: %w", c.Name, err)
		}
		return nil
	}
}

// readRemoved reads what was kept last of a container that has gone, after the
// last line seen of it.
func (r *reading) readRemoved(ctx context.Context, container string, fn func(line) error) error {
	kept, err := r.kept(ctx)
	if err != nil {
		return err
	}
	for _, k := range kept {
		if k.Container == container {
			return r.readKept(k, r.seen.next(container, r.q.Since))(ctx, fn)
		}
	}
	return nil
}

// readKept reads a kept log from a time on. A line that cannot be read is left
// out.
func (r *reading) readKept(k store.KeptLog, from time.Time) reader {
	return func(_ context.Context, fn func(line) error) error {
		origin, ok := r.q.KeptOrigin(k)
		if !ok {
			return nil
		}
		lines := lastLines(k.Lines, r.q.Tail)
		for text := range bytes.Lines(lines) {
			var l docker.LogLine
			if json.Unmarshal(text, &l) != nil || l.Time.Before(from) {
				continue
			}
			if err := fn(line{l, origin, k.Container}); err != nil {
				return err
			}
		}
		return nil
	}
}

// lastLines is the end of a text; 0 lines is all of it.
func lastLines(text []byte, n int) []byte {
	if n <= 0 {
		return text
	}
	at := len(text)
	for range n {
		if at == 0 {
			return text
		}
		at = bytes.LastIndexByte(text[:at-1], '\n') + 1
	}
	return text[at:]
}
