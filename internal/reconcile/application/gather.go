package application

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
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
	if w.Release == nil && !d.Suspended {
		if err := c.gatherImage(ctx, w); err != nil {
			return nil, err
		}
	}
	c.probeDue(ctx, w)
	return w, c.gatherLeaked(ctx, w)
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
			releaseID = a.ReleaseID
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
	w.Release, err = c.release(ctx, releaseID)
	return err
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

func (c *Controller) gatherImage(ctx context.Context, w *World) error {
	img, err := c.rt.Image(ctx, w.Desired.Image)
	switch {
	case err == nil:
		w.Image.Present = img
	case docker.IsImageNotFound(err):
		w.Image = c.puller.State(c.service, w.Desired.AttemptID)
	default:
		return fmt.Errorf("look for image %s on the engine: %w", w.Desired.Image, err)
	}
	return nil
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
	names := make(map[string]bool, len(list))
	for i := range list {
		s := &list[i]
		m, err := c.look(ctx, w, s)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		names[s.ID] = true
		replica, _ := strconv.Atoi(s.Labels[docker.LabelReplica])
		w.Groups = append(w.Groups, Group{
			Key: ReleaseKey(c.service, s.Name), SpecHash: s.Labels[docker.LabelSpecHash],
			Replica: replica, Members: []Member{*m},
		})
	}
	c.memory.prune(c.service, names)
	slices.SortFunc(w.Groups, func(a, b Group) int { return strings.Compare(a.Main().Name, b.Main().Name) })
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
	full, due := rec.known(s)
	if due {
		var err error
		if full, err = c.inspect(ctx, s); err != nil || full == nil {
			rec.markStale()
			return nil, err
		}
		rec.observe(full, w.target(full.Name) != nil, w.Now, c.memory.backoff, w.Timing)
		switch full.Status {
		case docker.StatusExited, docker.StatusDead, docker.StatusRestarting:
			rec.keepTail(c.tail(ctx, full))
		case docker.StatusRunning, docker.StatusCreated, docker.StatusPaused, docker.StatusRemoving:
		}
	}
	return rec.member(full, w.Now, w.Timing), nil
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

// probeDue probes every running container that has yet to prove itself, all
// at once, and notes what was found.
func (c *Controller) probeDue(ctx context.Context, w *World) {
	var due []*Group
	for i := range w.Groups {
		g := &w.Groups[i]
		r, m := c.provingFor(w, g), g.Main()
		if r != nil && r.Spec.Port > 0 && m.Status == docker.StatusRunning && m.Address.IsValid() &&
			(!w.Now.Before(m.Ready.Due) || w.target(m.Name) != nil) { // nothing is unrouted on an old answer
			due = append(due, g)
		}
	}
	together(len(due), func(i int) { c.probe(ctx, due[i].Main(), &c.provingFor(w, due[i]).Spec) })
	w.Now = c.now()
	c.quoteLate(ctx, w)
	c.noteProven(w)
}

func (c *Controller) probe(ctx context.Context, m *Member, s *spec.Service) {
	port := s.Port
	if s.Readiness != nil && s.Readiness.Port > 0 {
		port = s.Readiness.Port
	}
	ok, detail := c.prober.Probe(ctx, netip.AddrPortFrom(m.Address, uint16(port)), s.Readiness)
	if ctx.Err() != nil {
		return // an interrupted probe says nothing
	}
	m.Ready = c.memory.record(c.service, m.ID).noteProbe(ok, detail, c.now(), s.Readiness)
}

// quoteLate reads the last lines of containers whose time to become ready is
// over, for the failure that the plan will make of it.
func (c *Controller) quoteLate(ctx context.Context, w *World) {
	for i := range w.Groups {
		g := &w.Groups[i]
		r, m := c.provingFor(w, g), g.Main()
		if r != nil && r.Spec.Port > 0 && m.Status == docker.StatusRunning && expired(m, &r.Spec, w.Now) {
			m.LastLog = c.tail(ctx, &docker.ContainerState{ID: m.ID, Name: m.Name})
		}
	}
}

// provingFor is the release that a group has to prove itself for, nil when it
// has nothing to prove.
func (c *Controller) provingFor(w *World, g *Group) *store.Release {
	failed := w.Attempt != nil && w.Attempt.State == store.AttemptFailed && w.ActiveRelease != nil
	switch {
	case w.Active != nil && g.matches(w.ActiveRelease):
		if w.target(g.Main().Name) != nil && !g.Main().Recheck {
			return nil
		}
		return w.ActiveRelease
	case !failed && g.matches(w.Release):
		return w.Release
	}
	return nil
}

// noteProven clears the mark of a crash on containers that are ready again.
func (c *Controller) noteProven(w *World) {
	for i := range w.Groups {
		g := &w.Groups[i]
		m := g.Main()
		if r := c.provingFor(w, g); r != nil && m.Status == docker.StatusRunning && (judge(w, r, g).ready || w.target(m.Name) != nil && (r.Spec.Port == 0 || !m.Ready.ReadySince.IsZero())) {
			c.memory.record(c.service, m.ID).proven(m.Started)
			m.Recheck = false
		}
	}
}

// gatherLeaked finds addresses whose container is gone. Only passes of this
// service give addresses to its containers, so none can be on its way.
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
		if ours && a.FreedAt.IsZero() && !w.nameHeld(name) {
			w.Leaked = append(w.Leaked, name)
		}
	}
	return nil
}

// holder is the name under which a container holds an address: names of two
// services may look alike, so the service is part of it.
func (c *Controller) holder(container string) string { return c.service + "/" + container }
