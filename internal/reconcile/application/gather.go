package application

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// gather looks at everything a plan needs. It changes nothing but the shared
// memory of what was seen.
func (c *Controller) gather(ctx context.Context) (*World, error) {
	w, err := c.gatherWorld(ctx)
	if err != nil || w.Desired == nil {
		return w, err
	}
	return w, c.gatherLeaked(ctx, w)
}

// gatherWorld is gather without what only a pass that acts may look for.
func (c *Controller) gatherWorld(ctx context.Context) (*World, error) {
	w := &World{Now: c.now(), Timing: c.timing, Ingress: c.ingress()}
	d, err := c.store.GetDesiredService(ctx, c.service)
	switch {
	case errors.Is(err, store.ErrServiceNotFound):
		c.forget()
		return w, nil
	case err != nil:
		return nil, storeError("read service "+c.service, err)
	}
	w.Desired = d
	if err := c.gatherRecords(ctx, w); err != nil {
		return nil, err
	}
	w.RetryAt = c.memory.retryAt(c.service)
	w.Failure = c.memory.failure(c.service, d.AttemptID)
	if err := c.gatherContainers(ctx, w); err != nil {
		return nil, err
	}
	if w.Release == nil && !d.Suspended && !d.Stopped {
		if err := c.gatherNew(ctx, w); err != nil {
			return nil, err
		}
	}
	if err := c.gatherDependencies(ctx, w); err != nil {
		return nil, err
	}
	c.probeDue(ctx, w)
	return w, nil
}

// gatherRecords reads the attempt and the releases.
func (c *Controller) gatherRecords(ctx context.Context, w *World) error {
	d := w.Desired
	active, err := c.store.GetActiveRelease(ctx, c.service)
	switch {
	case err == nil:
		w.Active = &active
		if w.ActiveRelease, err = c.release(ctx, active.ReleaseID); err != nil {
			return err
		}
		if active.PreviousID != "" && w.Now.Before(active.HeldUntil) {
			if w.Previous, err = c.release(ctx, active.PreviousID); err != nil {
				return err
			}
		}
	case !errors.Is(err, store.ErrNotFound):
		return storeError("read the active release of "+c.service, err)
	}
	releaseID := d.ReleaseID
	if err := c.gatherAttempt(ctx, w); err != nil {
		return err
	}
	if a := w.Attempt; a != nil {
		if releaseID == "" {
			releaseID = cmp.Or(a.ReleaseID, c.memory.writtenFor(c.service, a.AttemptID))
		}
		// A change that needs no new container stays with what runs.
		if releaseID == "" && (a.Action == "scale" || a.Action == "route") && w.Active != nil {
			releaseID = w.Active.ReleaseID
		}
	} else if releaseID == "" && w.Active != nil {
		releaseID = w.Active.ReleaseID
	}
	if releaseID == "" {
		return nil
	}
	if w.Release, err = c.release(ctx, releaseID); err != nil {
		return err
	}
	w.Release = asDesired(w.Release, &d.Spec)
	if w.Active != nil && w.Active.ReleaseID == releaseID {
		w.ActiveRelease = w.Release
	}
	return nil
}

// asDesired is a release with everything that no container is made from as it
// is desired now. A release lasts for as long as its content does, and what it
// records of such settings may be older.
func asDesired(r *store.Release, d *spec.Service) *store.Release {
	out := *r
	s := &out.Spec
	s.Strategy, s.MaxSurge, s.MaxUnavailable, s.KeepPrevious = d.Strategy, d.MaxSurge, d.MaxUnavailable, d.KeepPrevious
	s.ReadyTimeout, s.StableWindow, s.CompletionTimeout = d.ReadyTimeout, d.StableWindow, d.CompletionTimeout
	s.DrainTimeout, s.StopGrace, s.HoldTimeout = d.DrainTimeout, d.StopGrace, d.HoldTimeout
	s.DependsOn, s.DependsTimeout = d.DependsOn, d.DependsTimeout
	return &out
}

func (c *Controller) gatherAttempt(ctx context.Context, w *World) error {
	id := w.Desired.AttemptID
	if id == 0 {
		return nil
	}
	a, ok := c.memory.settledAttempt(c.service, id)
	if !ok {
		var err error
		a, err = c.store.GetAttempt(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return storeError(fmt.Sprintf("read attempt %d", id), err)
		}
	}
	w.AttemptAt = a.CreatedAt
	for i := range a.Services {
		if a.Services[i].Service == c.service {
			w.Attempt = &a.Services[i]
			if w.Attempt.State.Final() {
				c.memory.keepAttempt(c.service, store.Attempt{ID: a.ID, CreatedAt: a.CreatedAt, Services: a.Services[i : i+1]})
			}
			return nil
		}
	}
	return nil
}

// release reads a release; releases never change, so one read lasts.
func (c *Controller) release(ctx context.Context, id string) (*store.Release, error) {
	if r := c.memory.release(c.service, id); r != nil {
		return r, nil
	}
	r, err := c.store.GetRelease(ctx, id)
	if err != nil {
		return nil, storeError("read release "+id, err)
	}
	c.memory.keepRelease(c.service, &r)
	return &r, nil
}

// gatherContainers lists the service's containers and looks closer at those
// that changed since the last look.
func (c *Controller) gatherContainers(ctx context.Context, w *World) error {
	list, err := c.rt.List(ctx, c.ownerLabels())
	if err != nil {
		return fmt.Errorf("list containers of %s: %w", c.service, err)
	}
	if list, err = c.confirmTargets(ctx, w, list); err != nil {
		return err
	}
	ids := make(map[string]bool, len(list))
	groups := map[string]*Group{}
	for i := range list {
		s := &list[i]
		m, err := c.look(ctx, w, s)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		ids[s.ID] = true
		// What has another hash in its label than its group was made from another
		// spec: a group of its own, which matches nothing.
		key := mainName(s.Name) + "/" + s.Labels[docker.LabelSpecHash]
		g := groups[key]
		if g == nil {
			replica, _ := strconv.Atoi(s.Labels[docker.LabelReplica])
			g = &Group{Name: mainName(s.Name), Key: ReleaseKey(c.service, s.Name), SpecHash: s.Labels[docker.LabelSpecHash], Replica: replica}
			groups[key] = g
		}
		g.Members = append(g.Members, *m)
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g := groups[key]
		slices.SortFunc(g.Members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
		w.Groups = append(w.Groups, *g)
	}
	slices.SortStableFunc(w.Groups, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	c.memory.prune(c.service, ids)
	return c.gatherMixed(ctx, w)
}

// gatherMixed reads the releases of groups that take traffic and belong neither
// to the active nor to the desired one.
func (c *Controller) gatherMixed(ctx context.Context, w *World) error {
	for i := range w.Groups {
		g := &w.Groups[i]
		id := g.Main().ReleaseID
		if w.target(g.Name) == nil || id == "" || w.genuine(g) {
			continue
		}
		r, err := c.release(ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return err
		default:
			w.Mixed = append(w.Mixed, r)
		}
	}
	return nil
}

// confirmTargets asks once more about containers that take traffic and are
// missing from a listing: nothing is unrouted because one answer was short.
func (c *Controller) confirmTargets(ctx context.Context, w *World, list []docker.ContainerState) ([]docker.ContainerState, error) {
	if w.Active == nil {
		return list, nil
	}
	for _, t := range w.Active.Targets {
		if slices.ContainsFunc(list, func(s docker.ContainerState) bool { return s.Name == t.Container }) {
			continue
		}
		s, err := c.rt.Inspect(ctx, t.Container)
		switch {
		case docker.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("look for container %s: %w", t.Container, err)
		case c.owns(s):
			list = append(list, *s)
		}
	}
	return list, nil
}

func (c *Controller) owns(s *docker.ContainerState) bool {
	for k, v := range c.ownerLabels() {
		if s.Labels[k] != v {
			return false
		}
	}
	return true
}

// look turns a listed container into a member, inspecting it when something
// about it may have changed. nil: it is gone.
func (c *Controller) look(ctx context.Context, w *World, s *docker.ContainerState) (*Member, error) {
	rec := c.memory.record(c.service, s.ID)
	full, at, due := rec.known(s)
	if s.Away {
		return c.lookAway(w, s, rec, full), nil
	}
	if due {
		var err error
		if full, err = c.inspect(ctx, s); err != nil || full == nil {
			return nil, err
		}
		rec.observe(full, at, w.target(mainName(full.Name)) != nil, w.Now, c.memory.backoff, w.Timing)
		switch full.Status {
		case docker.StatusExited, docker.StatusDead, docker.StatusRestarting:
			rec.keepTail(c.tail(ctx, full))
		case docker.StatusRunning, docker.StatusCreated, docker.StatusPaused, docker.StatusRemoving:
		}
	}
	m := rec.member(full, w.Now, w.Timing)
	m.Node = s.Node
	return m, nil
}

// inspect returns the full state, or nil when the container is gone. Where it
// contradicts a listing that says running, it is asked again: no container is
// given up on one answer against another.
func (c *Controller) inspect(ctx context.Context, s *docker.ContainerState) (*docker.ContainerState, error) {
	full, err := c.rt.Inspect(ctx, s.ID)
	if s.Running() && (docker.IsNotFound(err) || err == nil && !full.Running()) {
		full, err = c.rt.Inspect(ctx, s.ID)
	}
	switch {
	case docker.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("inspect container %s: %w", s.Name, err)
	}
	return full, nil
}

// tailLines is how many of a container's last lines a failure quotes.
const tailLines = 20

func (c *Controller) tail(ctx context.Context, s *docker.ContainerState) []string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var lines []string
	err := c.rt.Logs(ctx, s.ID, docker.LogOptions{Tail: tailLines}, func(l docker.LogLine) error {
		lines = append(lines, strings.ToValidUTF8(truncate(l.Text, 400), "�"))
		return nil
	})
	if err != nil {
		c.logger.DebugContext(ctx, "read last lines", "container", s.Name, "error", err)
	}
	return lines[max(0, len(lines)-tailLines):]
}

func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}

// gatherLeaked finds addresses and volumes of files whose container is gone.
// Only passes of this service give them to its containers, so none can be on
// its way. What is missing from a group that stands keeps its address: the
// others find it there.
func (c *Controller) gatherLeaked(ctx context.Context, w *World) error {
	if !c.memory.takeDirty(c.service) {
		return nil
	}
	held, err := c.store.ListAddresses(ctx, w.Desired.AppID)
	if err != nil {
		c.memory.markDirty(c.service)
		return storeError("list addresses of app "+w.Desired.AppID, err)
	}
	for _, a := range held {
		name, ours := strings.CutPrefix(a.Container, c.service+"/")
		if ours && a.FreedAt.IsZero() && !w.nameHeld(name) && !w.partOfGroup(name) {
			w.Leaked = append(w.Leaked, name)
		}
	}
	if err := c.gatherLeakedVolumes(ctx, w); err != nil {
		c.memory.markDirty(c.service)
		return err
	}
	return nil
}

// partOfGroup reports whether the name is that of a container which a group that
// stands is made of, and which is missing.
func (w *World) partOfGroup(name string) bool {
	main := mainName(name)
	return name != main && slices.ContainsFunc(w.Groups, func(g Group) bool { return g.Name == main }) ||
		name == main && slices.ContainsFunc(w.Groups, func(g Group) bool { return g.Name == main && g.Main().Status == "" })
}

// gatherLeakedVolumes finds volumes with the files of containers that are gone.
func (c *Controller) gatherLeakedVolumes(ctx context.Context, w *World) error {
	all, err := c.fileVolumesOf(ctx, "")
	if err != nil {
		return err
	}
	c.memory.noteFiles(c.service, len(all) > 0 || w.hasFiles())
	for _, v := range all {
		if name := v.Labels[docker.LabelFiles]; name != "" && !w.nameHeld(name) {
			w.LeakedVolumes = append(w.LeakedVolumes, LeakedVolume{Name: v.Name, Container: name})
		}
	}
	return nil
}

// hasFiles reports whether a release that is known puts files into volumes.
func (w *World) hasFiles() bool {
	return slices.ContainsFunc([]*store.Release{w.Release, w.ActiveRelease, w.Previous}, func(r *store.Release) bool {
		return r != nil && slices.ContainsFunc(r.Spec.Members(), func(m spec.Member) bool { return len(m.Files) > 0 })
	})
}

// holder is the name under which a container holds an address: names of two
// services may look alike, so the service is part of it.
func (c *Controller) holder(container string) string { return c.service + "/" + container }
