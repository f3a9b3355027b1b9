package dockerprovider

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
)

// Watch implements provider.Watcher: an engine's events about containers of
// the driver's, and the ends of fetches of images.
func (d *Driver) Watch(ctx context.Context, ready func(), fn func(id.ID)) error {
	w := d.hub.Join()
	defer d.hub.Leave(w)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	subscribed, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- d.rt.Events(ctx, map[string]string{docker.LabelInstance: d.opts.Owner}, func() { close(subscribed) }, func(e docker.Event) {
			if v, ok := d.touched(e); ok {
				w.Add(v)
			}
		})
	}()
	var wake <-chan struct{} // nothing is told before ready was
	for {
		select {
		case <-subscribed:
			subscribed, wake = nil, w.Wake()
			d.memory.TouchAll() // what happened before, nobody told
			ready()
		case <-wake:
			for _, v := range w.Take() {
				fn(v)
			}
		case err := <-ended:
			return failed("watch the engine", fmt.Errorf("the stream of events ended: %w", err))
		}
	}
}

// touched is the workload that an event is about, which is looked at more
// closely in its next pass.
func (d *Driver) touched(e docker.Event) (id.ID, bool) {
	v, err := id.Parse(e.Labels[docker.LabelWorkload])
	if err != nil {
		return id.Nil, false
	}
	d.memory.Touch(e.Labels[docker.LabelService], e.ContainerID)
	switch e.Action {
	case docker.EventDie, docker.EventOOM, docker.EventStart, docker.EventPause, docker.EventUnpause, docker.EventDestroy:
		return v, true
	case docker.EventCreate:
	}
	return id.Nil, false
}
