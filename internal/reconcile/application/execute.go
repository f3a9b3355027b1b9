package application

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// execute performs the actions in order and stops at the first that fails.
// Stops that follow each other run at once, as each may take its whole grace.
// It returns how many changed something that the next plan can see at once.
func (c *Controller) execute(ctx context.Context, w *World, actions []Action) (int, error) {
	done := 0
	var trace []store.TraceEvent
	var failed error
	remade := false
	for len(actions) > 0 && failed == nil && !remade {
		batch := actions[:1]
		for batch[0].Kind == ActStop && len(batch) < len(actions) && actions[len(batch)].Kind == ActStop {
			batch = actions[:len(batch)+1]
		}
		actions = actions[len(batch):]
		if k := batch[0].Kind; k == ActStart || k == ActStop {
			// These take their time: who watches sees first what was done.
			c.writeTrace(ctx, trace)
			trace = nil
		}
		if batch[0].Kind == ActAttempt {
			// Who follows an attempt stops at its end: what led there comes first.
			c.writeTrace(ctx, append(trace, c.traceOf(w, &batch[0], nil, 0)))
			trace = nil
			if failed = c.perform(ctx, w, &batch[0]); failed == nil {
				done++
			}
			continue
		}
		events, err := c.performAll(ctx, w, batch)
		trace = append(trace, events...)
		if errors.Is(err, errRemade) && c.memory.noteError(c.service) < patience {
			c.logger.WarnContext(ctx, "a container is made anew", "service", c.service, "error", err)
			remade = true
			done++
			continue
		}
		if err != nil {
			failed = c.refused(w, batch[0], err)
			continue
		}
		if batch[0].Kind != ActPull {
			done += len(batch)
		}
	}
	if failed == nil && !remade {
		c.memory.forgetErrors(c.service)
	}
	if done > 0 || failed != nil {
		c.memory.markDirty(c.service)
	}
	c.writeTrace(ctx, trace)
	return done, failed
}

// writeTrace records steps for people: a pass does not fail for it.
func (c *Controller) writeTrace(ctx context.Context, trace []store.TraceEvent) {
	if len(trace) == 0 {
		return
	}
	if err := c.store.AppendTrace(ctx, trace...); err != nil {
		c.logger.ErrorContext(ctx, "write the deploy trace", "service", c.service, "error", err)
	}
}

func (c *Controller) performAll(ctx context.Context, w *World, batch []Action) ([]store.TraceEvent, error) {
	events := make([]store.TraceEvent, len(batch))
	errs := make([]error, len(batch))
	together(len(batch), func(i int) {
		begun := c.now()
		errs[i] = c.perform(ctx, w, &batch[i])
		events[i] = c.traceOf(w, &batch[i], errs[i], c.now().Sub(begun))
	})
	var shown []store.TraceEvent
	for i, e := range events {
		if e.Phase == "" {
			continue
		}
		shown = append(shown, e)
		if phase, text := next(&batch[i]); phase != "" && errs[i] == nil {
			e.Phase, e.Status, e.Message = phase, "started", text
			shown = append(shown, e)
		}
	}
	return shown, errors.Join(errs...)
}

// perform does one action.
func (c *Controller) perform(ctx context.Context, w *World, a *Action) error {
	switch a.Kind {
	case ActPull:
		c.puller.Start(c.rt, c.service, w.Desired.AttemptID, a.Why, c.registryAuth(a.Why))
		return nil
	case ActWriteRelease:
		return c.writeRelease(ctx, w, a.Release)
	case ActEnsureNetwork:
		_, err := c.networks.Ensure(ctx, w.Desired.AppID)
		return err
	case ActEnsureVolume:
		return c.rt.EnsureVolume(ctx, c.volumeSpec(w.Desired.AppID, a.Volume))
	case ActRemoveVolume:
		return c.rt.RemoveVolume(ctx, a.Volume)
	case ActCreate:
		return c.create(ctx, w, a)
	case ActFill:
		return c.fill(ctx, a)
	case ActStart:
		return c.start(ctx, w, a)
	case ActSetRestart:
		defer c.touch(w, a.Container)
		return c.rt.Update(ctx, a.Container, docker.ContainerUpdate{Restart: &a.Policy})
	case ActSetActive:
		_, err := c.store.SetActiveRelease(ctx, *a.Active)
		return err
	case ActStop:
		if m := w.member(a.Container); m != nil {
			rec := c.memory.record(c.service, m.ID)
			if rec.noteAsked(); a.Why == whyLiveness {
				rec.noteHung(m.Name, c.now(), c.memory.backoff)
			}
		}
		defer c.touch(w, a.Container)
		if err := c.rt.Stop(ctx, a.Container, a.Grace); err != nil && !docker.IsNotFound(err) {
			return err
		}
		return nil
	case ActRemove:
		return c.remove(ctx, w, a)
	case ActFreeAddress:
		return c.freeAddress(ctx, w.Desired.AppID, a.Container)
	case ActAttempt:
		u := *a.Attempt
		u.UpdatedAt = c.now()
		return c.store.UpdateAttemptService(ctx, u)
	case ActNoteRetry:
		c.puller.Forget(c.service)
		c.memory.noteRetry(c.service, c.now())
		return nil
	}
	return fmt.Errorf("action %d is not one this version knows", a.Kind)
}

func (c *Controller) touch(w *World, name string) {
	if m := w.member(name); m != nil {
		c.memory.Touch(c.service, m.ID)
	}
}

func (c *Controller) writeRelease(ctx context.Context, w *World, r *store.Release) error {
	row := *r
	row.CreatedAt = c.now()
	written, err := c.store.CreateRelease(ctx, row)
	if err != nil || w.Attempt == nil {
		return err
	}
	c.memory.noteWritten(c.service, w.Attempt.AttemptID, written.ID)
	u := *w.Attempt
	u.ReleaseID, u.UpdatedAt = written.ID, c.now()
	if !u.State.Final() {
		u.State = store.AttemptRunning
	}
	return c.store.UpdateAttemptService(ctx, u)
}

// create makes one container of a group, at an address of its own, with the
// addresses of the others it stands beside.
func (c *Controller) create(ctx context.Context, w *World, a *Action) error {
	m := specOf(a.Release, a.Member)
	mounts, err := c.mounts(w.Desired.AppID, a, m)
	if err != nil {
		return err
	}
	hosts, addr, err := c.addresses(ctx, w, a)
	if err != nil {
		return err
	}
	if err := c.ensureFileVolumes(ctx, w.Desired.AppID, a.Container, m); err != nil {
		return err
	}
	cs, err := c.containerSpec(ctx, w.Desired, a, m, addr)
	if err != nil {
		return err
	}
	cs.Mounts, cs.Hosts, cs.VolumeLabels = mounts, hosts, c.volumeLabels(w.Desired.AppID, a, m)
	_, err = c.rt.Create(ctx, cs)
	if docker.IsConflict(err) {
		// Made by an earlier pass whose answer was lost, or somebody else's.
		s, ierr := c.rt.Inspect(ctx, a.Container)
		switch {
		case ierr == nil && c.owns(s):
			return nil
		case ierr == nil:
			return fmt.Errorf("%w: container %s exists and does not belong to this Berth; remove or rename it", errNameTaken, a.Container)
		}
	}
	if docker.IsNotFound(err) {
		c.networks.Invalidate(w.Desired.AppID)
	}
	if img := memberImage(a.Release, a.Member, m.Role); docker.IsImageNotFound(err) && (!img.Local || c.imagesMove) {
		return c.fetch(w, img, err)
	}
	return err
}

// fetch begins to bring the image of a container that could not be made to where it is
// missing. Of one that only other nodes may have, a fetch that failed is the last word.
func (c *Controller) fetch(w *World, img store.MemberImage, missing error) error {
	if !img.Local {
		c.puller.Start(c.rt, c.service, w.Desired.AttemptID, img.Resolved, c.registryAuth(img.Resolved))
		return missing
	}
	switch state := c.puller.State(c.service, w.Desired.AttemptID, img.ImageID); {
	case state.Failure != "":
		return missing
	case !state.Pulling:
		c.puller.Start(c.rt, c.service, w.Desired.AttemptID, img.ImageID, nil)
	}
	return fmt.Errorf("%w: image %s is on its way from another node: %w", ErrHeld, img.Image, missing)
}

// addresses takes the container's address, and those of what else lasts in its
// group for it to find them by name.
func (c *Controller) addresses(ctx context.Context, w *World, a *Action) (hosts []docker.HostEntry, own netip.Addr, err error) {
	for _, m := range a.Release.Spec.Members() {
		name := memberContainer(a.Release, a.Replica, m)
		if name != a.Container && (m.Role == spec.RoleInit || !a.Release.Spec.Group()) {
			continue
		}
		addr, err := c.takeAddress(ctx, w, name)
		if err != nil {
			return nil, own, err
		}
		if name == a.Container {
			own = addr
		}
		if m.Role != spec.RoleInit && a.Release.Spec.Group() {
			hosts = append(hosts, docker.HostEntry{Name: m.Name, Address: addr})
		}
	}
	return hosts, own, nil
}

func (c *Controller) takeAddress(ctx context.Context, w *World, container string) (netip.Addr, error) {
	addr, err := c.store.TakeAddress(ctx, store.AddressRequest{
		AppID: w.Desired.AppID, Container: c.holder(container), Now: c.now(), Rest: c.addressRest, Acked: w.Ingress.Acked,
	})
	switch {
	case errors.Is(err, store.ErrSubnetFull):
		return addr, fmt.Errorf("address for container %s: %w", container, err)
	case err != nil:
		c.networks.Invalidate(w.Desired.AppID) // its subnet may be what is not there
		return addr, storeError("address for container "+container, err)
	}
	return addr, nil
}

// errRemade: the next plan makes the container again, and need not wait for it.
var errRemade = errors.New("it is removed and made anew")

func (c *Controller) start(ctx context.Context, w *World, a *Action) error {
	err := c.rt.Start(ctx, a.Container)
	if m := w.member(a.Container); m != nil {
		c.memory.record(c.service, m.ID).noteStarted()
	}
	if errors.Is(err, docker.ErrWedged) {
		return c.remake(ctx, w, a, err)
	}
	return err
}

// remake removes a container that the engine cannot start any more. Its name
// follows from what it is made of, so nothing else could be started in its
// place while it is there. What stands beside it in its group knows its address,
// and goes as well, unless the group takes traffic.
func (c *Controller) remake(ctx context.Context, w *World, a *Action, cause error) error {
	gone := []Member{{Name: a.Container}}
	main := mainName(a.Container)
	for i := range w.Groups {
		if g := &w.Groups[i]; g.Name == main && len(g.Members) > 1 {
			if w.target(main) != nil || g.Running() {
				return errors.Join(cause, c.remove(ctx, w, a), errRemade)
			}
			gone = g.Members
		}
	}
	for i := range gone {
		one := *a
		one.Container = gone[i].Name
		if err := c.remove(ctx, w, &one); err != nil {
			return errors.Join(cause, err)
		}
		// What the crash left of its network may go on answering at its address.
		if err := c.freeAddress(ctx, w.Desired.AppID, one.Container); err != nil {
			return errors.Join(cause, err)
		}
	}
	return fmt.Errorf("%w; %w", cause, errRemade)
}

// remove keeps the end of the container's log and deletes it. Its address is
// let go by a later pass, once the container is seen to be gone.
func (c *Controller) remove(ctx context.Context, w *World, a *Action) error {
	if m := w.member(a.Container); m != nil && !m.Started.IsZero() {
		if err := c.keepLog(ctx, m, a.Replica); err != nil {
			return err
		}
	}
	if err := c.rt.Remove(ctx, a.Container); err != nil {
		return err
	}
	return c.removeFileVolumes(ctx, a.Container)
}

// freeAddress lets an address rest if the engine says in so many words that
// its container does not exist.
func (c *Controller) freeAddress(ctx context.Context, app, container string) error {
	s, err := c.rt.Inspect(ctx, container)
	switch {
	case err == nil && c.owns(s):
		return nil
	case err != nil && !docker.IsNotFound(err):
		return err
	}
	if err := c.store.FreeAddress(ctx, app, c.holder(container), c.now()); err != nil {
		return storeError("free the address of "+container, err)
	}
	return nil
}
