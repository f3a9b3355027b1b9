package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 10 * time.Second
	// membersEvery is how often the members are looked at when nobody tells of a change.
	membersEvery = 15 * time.Second
)

// Events implements docker.Runtime: those of all nodes. It ends with this machine's
// stream only. Others are subscribed to again and again; what may have been missed of
// them Options.Missed is told.
func (v *view) Events(ctx context.Context, labels map[string]string, ready func(), fn func(docker.Event)) error {
	return v.f.Watch(ctx, labels, ready, func(_ string, e docker.Event) { fn(e) })
}

// Watch delivers the container events of all nodes, one at a time, each with the node
// that it is from, until ctx is done or this machine's stream breaks; it returns the
// reason. It calls ready once this machine is subscribed to, and every other node that
// is online or has had the fleet's patience.
func (f *Fleet) Watch(ctx context.Context, labels map[string]string, ready func(), fn func(node string, e docker.Event)) error {
	w := &watch{f: f, labels: labels, tracked: map[string]bool{}}
	w.deliver = func(id string, e docker.Event) {
		w.one.Lock()
		defer w.one.Unlock()
		f.heard(id, &e)
		fn(id, e)
	}
	ctx, cancel := context.WithCancel(ctx)
	stands := make(chan struct{})
	w.wg.Go(func() { w.others(ctx, stands, ready) })
	err := f.o.Local.Events(ctx, labels, sync.OnceFunc(func() { close(stands) }), func(e docker.Event) { w.deliver("", e) })
	cancel()
	w.wg.Wait()
	return err
}

// watch is one caller of Watch.
type watch struct {
	f       *Fleet
	labels  map[string]string
	deliver func(id string, e docker.Event)
	one     sync.Mutex // held while an event is delivered
	wg      sync.WaitGroup

	mu      sync.Mutex
	tracked map[string]bool
}

// others follows the nodes that are members, as they come and go.
func (w *watch) others(ctx context.Context, stands <-chan struct{}, ready func()) {
	var first sync.WaitGroup
	w.track(ctx, &first)
	begun := make(chan struct{})
	w.wg.Go(func() {
		first.Wait()
		close(begun)
	})
	select {
	case <-stands:
	case <-ctx.Done():
		return
	}
	w.await(ctx, begun)
	if ctx.Err() != nil {
		return
	}
	if ready != nil {
		ready()
	}
	for ctx.Err() == nil {
		changed := w.f.whenChanged()
		w.track(ctx, nil)
		pause(ctx, membersEvery, changed)
	}
}

// await waits for the nodes that are online at the beginning, for a while.
func (w *watch) await(ctx context.Context, begun <-chan struct{}) {
	limit := time.NewTimer(w.f.o.Patience)
	defer limit.Stop()
	select {
	case <-begun:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// pause waits for a time, or for less.
func pause(ctx context.Context, d time.Duration, less <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-less:
	case <-ctx.Done():
	}
}

// track begins to follow members that are not followed yet. first, if there is one, is
// done for each that is online once it is subscribed to or failed.
func (w *watch) track(ctx context.Context, first *sync.WaitGroup) {
	for id, m := range w.f.members() {
		if m.Gone {
			continue
		}
		w.mu.Lock()
		known := w.tracked[id]
		w.tracked[id] = true
		w.mu.Unlock()
		if known {
			continue
		}
		begun := func() {}
		if first != nil && m.Online {
			first.Add(1)
			begun = sync.OnceFunc(first.Done)
		}
		w.wg.Go(func() {
			w.follow(ctx, id, first != nil && m.Online, begun)
			begun()
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.tracked, id)
		})
	}
}

// follow subscribes to a node for as long as it is a member. fresh says that nothing of
// it can have been missed if the first subscription succeeds.
func (w *watch) follow(ctx context.Context, id string, fresh bool, begun func()) {
	backoff := firstBackoff
	for ctx.Err() == nil {
		changed := w.f.whenChanged()
		m, member := w.f.members()[id]
		switch {
		case !member || m.Gone:
			return
		case !m.Online:
			begun()
			fresh = false
			pause(ctx, membersEvery, changed)
			continue
		}
		stood := false
		err := w.subscribe(ctx, id, m.Since, func() {
			stood = true
			if !fresh {
				w.f.o.Missed(id)
			}
			begun()
		})
		begun()
		if fresh = false; stood {
			backoff = firstBackoff
		}
		if ctx.Err() != nil {
			return
		}
		w.f.o.Logger.WarnContext(ctx, "the events of a node broke off", "node", id, "error", err)
		pause(ctx, backoff, nil)
		backoff = min(2*backoff, lastBackoff)
	}
}

// subscribe delivers a node's events until they break off. What is there is listed once
// the subscription stands, and before ready is called.
func (w *watch) subscribe(ctx context.Context, id string, session time.Time, ready func()) error {
	rt, err := w.f.engine(id)
	if err != nil {
		return err
	}
	return rt.Events(ctx, w.labels, func() {
		bounded, cancel := context.WithTimeout(ctx, w.f.o.Patience)
		defer cancel()
		if err := w.f.survey(bounded, id, rt, session, true); err != nil {
			w.f.o.Logger.DebugContext(ctx, "list a node that is back", "node", id, "error", err)
		}
		ready()
	}, func(e docker.Event) { w.deliver(id, e) })
}

// heard takes in what an event says about what is where.
func (f *Fleet) heard(id string, e *docker.Event) {
	switch e.Action {
	case docker.EventStart, docker.EventUnpause:
		f.became(id, e.ContainerID, docker.StatusRunning)
	case docker.EventDie:
		f.became(id, e.ContainerID, docker.StatusExited)
	case docker.EventPause:
		f.became(id, e.ContainerID, docker.StatusPaused)
	case docker.EventDestroy:
		f.destroyed(id, e.ContainerID)
	case docker.EventCreate:
		f.appeared(id, e)
	case docker.EventOOM:
	}
}

// destroyed takes in that an engine told of a container's end.
func (f *Fleet) destroyed(id, container string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.nodes[id]; n != nil && n.seen[container] != nil {
		n.drop(n.seen[container])
	}
}

// appeared takes in a container that nobody has looked at yet.
func (f *Fleet) appeared(id string, e *docker.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.node(id)
	if n.seen[e.ContainerID] != nil || n.byName[e.Name] != nil && n.byName[e.Name].pending > 0 {
		return
	}
	f.seq++
	state := docker.ContainerState{ID: e.ContainerID, Name: e.Name, Labels: e.Labels, Status: docker.StatusCreated, Created: e.Time, Node: id}
	n.put(&sighting{state: copyOf(&state), key: e.ContainerID, at: f.seq})
}
