package dockerprovider

import (
	"context"
	"errors"
	"sync"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
)

// width bounds how many calls are made at once for one workload.
const width = 8

// together calls fn for 0 to n-1, some at once, and joins what failed.
func together(n int, fn func(i int) error) error {
	errs := make([]error, n)
	room := make(chan struct{}, width)
	var wg sync.WaitGroup
	for i := range n {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			errs[i] = fn(i)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// stopAll stops what runs, main containers first: what stands beside them serves
// them.
func (d *Driver) stopAll(ctx context.Context, list []docker.ContainerState, w *records.Workload) error {
	for _, mains := range []bool{true, false} {
		err := together(len(list), func(i int) error {
			c := &list[i]
			switch c.Status {
			case docker.StatusCreated, docker.StatusExited, docker.StatusDead, docker.StatusRemoving:
				return nil
			case docker.StatusRunning, docker.StatusPaused, docker.StatusRestarting:
			}
			if isMain(c) != mains {
				return nil
			}
			if err := d.rt.Stop(ctx, c.ID, graceOf(w, c.Name, c.Labels)); err != nil && !docker.IsNotFound(err) {
				return err
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
