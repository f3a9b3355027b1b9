package hosting

import (
	"context"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Watch calls fn, from one goroutine, for each lease that was asked to change or to
// whose workloads something happened, until ctx or the provider's own stream ends.
// ready is called once everything from then on is told.
func (h *Hosting) Watch(ctx context.Context, ready func(), fn func(lease string)) error {
	w := h.hub.Join()
	defer h.hub.Leave(w)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended, subscribed := make(chan error, 1), make(chan struct{})
	watches, ok := h.cfg.Provider.(provider.Watcher)
	if ok {
		go func() {
			ended <- watches.Watch(ctx, func() { close(subscribed) }, func(instance id.ID) {
				if lease := h.rows.ownerOf(instance); lease != "" {
					w.Add(lease)
				}
			})
		}()
	} else {
		close(subscribed)
	}
	for {
		select {
		case <-subscribed:
			subscribed = nil
			ready()
		case <-w.Wake():
			for _, lease := range w.Take() {
				fn(lease)
			}
		case err := <-ended:
			return err
		case <-ctx.Done():
			if ok {
				return <-ended // once nobody calls fn any more
			}
			return ctx.Err()
		}
	}
}
