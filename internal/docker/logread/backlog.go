package logread

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

// backlog delivers what is there already, in the order of time, and returns the
// containers it looked at. These are listed before kept logs are read: one that
// is removed in between is then found kept.
func (r *reading[O]) backlog(ctx context.Context, fn func(Line[O]) error) ([]docker.ContainerState, error) {
	containers, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	var kept []store.KeptLog
	if r.q.Kept != nil {
		if kept, err = r.q.Kept(ctx, containers); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	m := &merge[O]{}
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
	deliver, flush := r.tail(fn)
	if err := m.run(ctx, deliver); err != nil {
		return nil, err
	}
	return containers, flush()
}

// tail passes lines on, or holds the last ones back until flush when the query
// asks for no more than some of all.
func (r *reading[O]) tail(fn func(Line[O]) error) (deliver func(Line[O]) error, flush func() error) {
	n := r.q.Tail
	if n <= 0 || !r.q.TailOfAll {
		return fn, func() error { return nil }
	}
	var ring []Line[O]
	next := 0
	deliver = func(l Line[O]) error {
		if len(ring) < n {
			ring = append(ring, l)
			return nil
		}
		ring[next] = l
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
type reader[O any] func(ctx context.Context, fn func(Line[O]) error) error

// readContainer reads what a container has printed until now.
func (r *reading[O]) readContainer(c docker.ContainerState) reader[O] {
	return func(ctx context.Context, fn func(Line[O]) error) error {
		origin, _ := r.q.Origin(c.Name, c.Labels)
		if c.Away {
			// Said, and not left out; and no reason to keep the other lines back.
			return fn(Line[O]{docker.LogLine{
				Time: c.Created, Stream: docker.Stderr, Text: fmt.Sprintf("[berth] node %s is away: what this replica printed there cannot be read now", c.Node),
			}, origin, c.Name})
		}
		opts := docker.LogOptions{Since: r.q.Since, Tail: r.q.Tail}
		err := r.rt.Logs(ctx, c.ID, opts, func(l docker.LogLine) error {
			r.seen.note(c.Name, l.Time)
			return fn(Line[O]{l, origin, c.Name})
		})
		if errors.Is(err, docker.ErrNotFound) {
			return r.readRemoved(ctx, c.Name, c.Labels, fn)
		}
		if err != nil {
			return fmt.Errorf("read the log of container %s: %w", c.Name, err)
		}
		return nil
	}
}

// readRemoved reads what was kept last of a container that has gone, after the
// last line seen of it.
func (r *reading[O]) readRemoved(ctx context.Context, container string, labels map[string]string, fn func(Line[O]) error) error {
	if r.q.KeptOf == nil {
		return nil
	}
	kept, err := r.q.KeptOf(ctx, labels)
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
func (r *reading[O]) readKept(k store.KeptLog, from time.Time) reader[O] {
	return func(_ context.Context, fn func(Line[O]) error) error {
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
			if err := fn(Line[O]{l, origin, k.Container}); err != nil {
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
