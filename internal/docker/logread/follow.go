package logread

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

const (
	// liveBuffer is how many lines of all followers together wait for a slow
	// reader; past it the followers wait.
	liveBuffer = 64
	firstRetry = 100 * time.Millisecond
	maxRetry   = 5 * time.Second
	// rescanTimeout bounds one look at the containers while following.
	rescanTimeout = 30 * time.Second
)

// follow subscribes to the engine's events, delivers the backlog, and then every
// container's new lines. The subscription comes first, so that a container that
// starts while the backlog is read is not missed.
func (r *reading[O]) follow(ctx context.Context, fn func(Line[O]) error) error {
	f := &followers[O]{
		reading: r, lines: make(chan Line[O], liveBuffer), begun: make(chan struct{}),
		known: map[string]bool{}, again: map[string]string{},
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer f.wg.Wait()
	defer cancel(nil)
	subscribed := make(chan struct{})
	f.wg.Go(func() {
		if err := f.watch(ctx, subscribed); err != nil {
			cancel(err)
		}
	})
	select {
	case <-subscribed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	containers, err := r.backlog(ctx, fn)
	if err != nil {
		return err
	}
	close(f.begun)
	for _, c := range containers {
		f.begin(ctx, c.ID, c.Name, c.Labels)
	}
	for {
		select {
		case l := <-f.lines:
			if err := fn(l); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// followers are the containers being followed, one goroutine each.
type followers[O any] struct {
	*reading[O]
	lines chan Line[O]
	begun chan struct{} // closed once the backlog is delivered
	wg    sync.WaitGroup

	mu sync.Mutex
	// known are the names of containers with a goroutine; again has those that
	// started once more while theirs was still at an earlier run, with the id
	// they have now.
	known map[string]bool
	again map[string]string
}

// watch begins a follower for each container that starts, until ctx is done. The
// first subscription must stand; a later break is mended by subscribing again
// and looking at what there is.
func (f *followers[O]) watch(ctx context.Context, subscribed chan<- struct{}) error {
	delay := firstRetry
	first := true
	for {
		err := f.rt.Events(ctx, f.q.Labels, func() {
			if first {
				first = false
				close(subscribed)
				return
			}
			delay = firstRetry
			f.wg.Go(func() { f.rescan(ctx) })
		}, func(e docker.Event) {
			if e.Action == docker.EventStart {
				f.begin(ctx, e.ContainerID, e.Name, e.Labels)
			}
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case first:
			return fmt.Errorf("follow logs: %w", err)
		}
		f.q.Logger.WarnContext(ctx, "the engine's event stream ended; subscribing again", "error", err)
		if !pause(ctx, delay) {
			return nil
		}
		delay = min(2*delay, maxRetry)
	}
}

// rescan begins followers for containers whose start was missed.
func (f *followers[O]) rescan(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, rescanTimeout)
	defer cancel()
	containers, err := f.list(within)
	if err != nil {
		f.q.Logger.WarnContext(ctx, "cannot look for new containers", "error", err)
		return
	}
	for _, c := range containers {
		f.begin(ctx, c.ID, c.Name, c.Labels)
	}
}

// begin follows a container, or notes that it has to be followed again once its
// follower is at the end of the run before.
func (f *followers[O]) begin(ctx context.Context, id, name string, labels map[string]string) {
	origin, ok := f.q.Origin(name, labels)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known[name] {
		f.again[name] = id
		return
	}
	if len(f.known) >= maxContainers || ctx.Err() != nil {
		return
	}
	f.known[name] = true
	f.wg.Go(func() {
		select {
		case <-f.begun:
		case <-ctx.Done():
			return
		}
		for next := id; next != ""; {
			next = f.read(ctx, next, name, labels, origin)
		}
	})
}

// read follows a container to the end of its run and returns the id under which
// it has to be followed once more, or "".
func (f *followers[O]) read(ctx context.Context, id, name string, labels map[string]string, origin O) string {
	send := func(l Line[O]) error {
		select {
		case f.lines <- l:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	opts := docker.LogOptions{Since: f.seen.next(name, f.q.Since), Follow: true}
	err := f.rt.Logs(ctx, id, opts, func(l docker.LogLine) error {
		f.seen.note(name, l.Time)
		return send(Line[O]{l, origin, name})
	})
	switch {
	case ctx.Err() != nil:
		return ""
	case errors.Is(err, docker.ErrNotFound):
		// Gone before its last lines were read; they were kept.
		if err := f.readRemoved(ctx, name, labels, send); err != nil && ctx.Err() == nil {
			f.q.Logger.WarnContext(ctx, "cannot read a kept log", "container", name, "error", err)
		}
	case err != nil:
		f.q.Logger.WarnContext(ctx, "a log stream broke; reading on", "container", name, "error", err)
		if pause(ctx, maxRetry/10) {
			return id
		}
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next := f.again[name]
	delete(f.again, name)
	if next == "" {
		delete(f.known, name)
	}
	return next
}

// pause waits and says whether the context still stands.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
