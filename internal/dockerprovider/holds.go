package dockerprovider

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/provider"
)

// holdCheck is how soon a Step is due while a volume is waited for: its container
// is another instance's, of which no event comes here.
const holdCheck = time.Second

// holds are the workloads that wait for a volume. They are looked at anew by every
// pass, and with the process they are gone.
type holds struct {
	mu sync.Mutex
	of map[id.ID]hold
}

type hold struct {
	attempt int64
	since   time.Time
	why     string
}

// note says that a workload waits, and returns since when in this attempt.
func (h *holds) note(workload id.ID, attempt int64, why string, now time.Time) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	one, known := h.of[workload]
	if !known || one.attempt != attempt {
		one = hold{attempt: attempt, since: now}
	}
	one.why = why
	if h.of == nil {
		h.of = map[id.ID]hold{}
	}
	h.of[workload] = one
	return one.since
}

func (h *holds) end(workload id.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.of, workload)
}

// why a workload waits, or "".
func (h *holds) why(workload id.ID) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of[workload].why
}

// startOne starts a container, unless it may write a volume of the tenant that
// another running container may write. w is nil without a record.
func (d *Driver) startOne(ctx context.Context, workload id.ID, container string, w *records.Workload) error {
	c, err := d.rt.Inspect(ctx, container)
	if err != nil {
		return err
	}
	var volumes []string
	for _, m := range c.Mounts {
		if d.writesKept(m) {
			volumes = append(volumes, m.Volume)
		}
	}
	slices.Sort(volumes) // so that no two wait for each other
	for _, name := range volumes {
		release, err := d.locks.Lock(ctx, "volume "+name)
		if err != nil {
			return err
		}
		defer release()
	}
	if len(volumes) > 0 && !c.Running() {
		if err := d.free(ctx, workload, c, volumes, w); err != nil {
			return err
		}
	}
	if err := d.rt.Start(ctx, container); err != nil {
		return err
	}
	d.holds.end(workload)
	return nil
}

// free is nil when nobody else that runs may write the volumes.
func (d *Driver) free(ctx context.Context, workload id.ID, c *docker.ContainerState, volumes []string, w *records.Workload) error {
	all, err := d.rt.List(ctx, nil) // whosever they are
	if err != nil {
		return err
	}
	ids, shared := map[string]string{}, map[string]bool{}
	for volume, share := range keptIDs(w) {
		name := d.keptVolume(w.Tenant, volume).Name
		ids[name], shared[name] = volume, share
	}
	for i := range all {
		other := &all[i]
		if other.ID == c.ID || !holding(other) {
			continue
		}
		own := sameLabels(other, c, docker.LabelInstance, docker.LabelWorkload)
		if own && sameLabels(other, c, docker.LabelRelease, docker.LabelReplica) {
			continue // of its group
		}
		for _, m := range other.Mounts {
			if !d.writesKept(m) || !slices.Contains(volumes, m.Volume) || own && shared[m.Volume] {
				continue
			}
			return d.held(workload, cmp.Or(ids[m.Volume], m.Volume), w)
		}
	}
	return nil
}

// held is what a start ends with that has to wait, or has waited for too long.
func (d *Driver) held(workload id.ID, volume string, w *records.Workload) error {
	if w == nil {
		return &provider.VolumeBusyError{ID: volume}
	}
	why := "volume " + volume + " is in use by another instance"
	patience := provider.DefaultReadinessTimeout
	if w.Bounds != nil && w.Bounds.ReadyTimeout > 0 {
		patience = w.Bounds.ReadyTimeout
	}
	now := d.now()
	since := d.holds.note(workload, w.LastAttempt, why, now)
	if now.Sub(since) < patience {
		return fmt.Errorf("%w: %s", application.ErrHeld, why)
	}
	return fmt.Errorf("%w: %s", application.ErrVolumeInUse, why)
}

// holding reports whether a container runs, or may at any moment by itself.
func holding(c *docker.ContainerState) bool {
	switch c.Status {
	case docker.StatusRunning, docker.StatusPaused, docker.StatusRestarting:
		return true
	case docker.StatusCreated, docker.StatusExited, docker.StatusDead, docker.StatusRemoving:
	}
	return false
}

func sameLabels(a, b *docker.ContainerState, keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return a.Labels[key] != b.Labels[key] })
}
