package applogs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

// backlog delivers what is there already, in the order of time, and returns
// the containers it looked at. Containers are listed before kept logs are
// read: one that is removed in between is then found kept.
func (r *reading) backlog(ctx context.Context, fn func(wire.LogEntry) error) ([]docker.ContainerState, error) {
	containers, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	m := newMerge()
	// Readers end with the context and are waited for, whatever happens.
	defer m.wait()
	defer cancel()

	live := map[string]time.Time{}
	for _, c := range containers {
		live[c.Name] = c.Created
		m.add(ctx, r.readContainer(c))
	}
	services, err := r.services(ctx, containers)
	if err != nil {
		return nil, err
	}
	for _, service := range services {
		kept, err := r.source.store.ListKeptLogs(ctx, service, store.MaxKeptLogs)
		if err != nil {
			return nil, fmt.Errorf("list the kept logs of %s: %w", service, err)
		}
		for _, k := range kept {
			// A name comes back when a release does. What was kept of the
			// container that has the name now is read from that container.
			if created, ok := live[k.Container]; !ok || k.Started.Before(created) {
				m.add(ctx, r.readKept(k, r.q.Since))
			}
		}
	}
	deliver, flush := r.tail(fn)
	if err := m.run(ctx, deliver); err != nil {
		return nil, err
	}
	return containers, flush()
}

// tail passes lines on, or holds the last ones back until flush when the query
// asks for no more than some.
func (r *reading) tail(fn func(wire.LogEntry) error) (deliver func(wire.LogEntry) error, flush func() error) {
	n := min(r.q.Tail, wire.MaxTail)
	if n <= 0 {
		return fn, func() error { return nil }
	}
	var ring []wire.LogEntry
	next := 0
	deliver = func(e wire.LogEntry) error {
		if len(ring) < n {
			ring = append(ring, e)
			return nil
		}
		ring[next] = e
		next = (next + 1) % n
		return nil
	}
	return deliver, func() error {
		for i := range ring {
			if err := fn(ring[(next+i)%len(ring)]); err != nil {
				return err
			}
		}
		return nil
	}
}

// reader calls fn for each of its lines, in order.
type reader func(ctx context.Context, fn func(wire.LogEntry) error) error

// readContainer reads what a container has printed until now.
func (r *reading) readContainer(c docker.ContainerState) reader {
	return func(ctx context.Context, fn func(wire.LogEntry) error) error {
		o := originOf(r.q.App, c.Name, c.Labels)
		opts := docker.LogOptions{Since: r.q.Since, Tail: r.q.Tail}
		err := r.source.runtime.Logs(ctx, c.ID, opts, func(l docker.LogLine) error {
			r.seen.note(c.Name, l.Time)
			return fn(o.entry(l))
		})
		if errors.Is(err, docker.ErrNotFound) {
			return r.readRemoved(ctx, c.Name, c.Labels[docker.LabelService], fn)
		}
		if err != nil {
			return fmt.Errorf("read the log of container %s: %w", c.Name, err)
		}
		return nil
	}
}

// readRemoved reads what was kept last of a container that has gone, after the
// last line seen of it.
func (r *reading) readRemoved(ctx context.Context, container, service string, fn func(wire.LogEntry) error) error {
	kept, err := r.source.store.ListKeptLogs(ctx, service, store.MaxKeptLogs)
	if err != nil {
		return fmt.Errorf("list the kept logs of %s: %w", service, err)
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
	return func(_ context.Context, fn func(wire.LogEntry) error) error {
		o := keptOrigin(r.q.App, k)
		for line := range bytes.Lines(k.Lines) {
			var l docker.LogLine
			if json.Unmarshal(line, &l) != nil || l.Time.Before(from) {
				continue
			}
			if err := fn(o.entry(l)); err != nil {
				return err
			}
		}
		return nil
	}
}
