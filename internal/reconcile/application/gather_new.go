package application

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// gatherNew looks at what a new release is made of: the images of its members,
// and the newest versions of the values that it names.
func (c *Controller) gatherNew(ctx context.Context, w *World) error {
	for _, m := range w.Desired.Spec.Members() {
		ref := m.Image
		if m.Role == spec.RoleMain {
			ref = w.Desired.Image
		}
		img, err := c.keptImage(ctx, w, m, ref)
		if err == nil && img.Present == nil && img.Fetch == "" {
			img, err = c.imageState(ctx, w, ref)
		}
		if err != nil {
			return err
		}
		w.Images = append(w.Images, img)
	}
	refs := w.Desired.Spec.SecretRefs()
	if len(refs) == 0 {
		return nil
	}
	w.Secrets = map[string]int64{}
	for _, ref := range refs {
		version, err := c.secrets.SecretVersion(ctx, ref.Key)
		if err != nil {
			return fmt.Errorf("look for secret %s: %w", ref.Key, err)
		}
		w.Secrets[ref.Key] = version
	}
	return nil
}

// keptImage is the image of a member that is only restarted: the one that the
// active release found, whatever its tag leads to by now. Without one, or where
// the engine has lost it, nothing is present.
func (c *Controller) keptImage(ctx context.Context, w *World, m spec.Member, ref string) (ImageState, error) {
	if w.Attempt == nil || w.Attempt.Action != "restart" || w.ActiveRelease == nil {
		return ImageState{}, nil
	}
	known := memberImage(w.ActiveRelease, m.Name, m.Role)
	if known.Image != ref || known.ImageID == "" {
		return ImageState{}, nil
	}
	img, err := c.rt.Image(ctx, known.ImageID)
	switch {
	case docker.IsImageNotFound(err) && c.imagesMove:
		if state := c.puller.State(c.service, w.Desired.AttemptID, known.ImageID); state.Failure == "" {
			state.Ref, state.Fetch = ref, known.ImageID
			return state, nil
		}
		return ImageState{}, nil
	case docker.IsImageNotFound(err):
		return ImageState{}, nil
	case err != nil:
		return ImageState{}, fmt.Errorf("look for image %s on the engine: %w", known.ImageID, err)
	}
	return ImageState{Ref: ref, Present: img}, nil
}

func (c *Controller) imageState(ctx context.Context, w *World, ref string) (ImageState, error) {
	img, err := c.rt.Image(ctx, ref)
	switch {
	case err == nil:
		return ImageState{Ref: ref, Present: img}, nil
	case docker.IsImageNotFound(err):
		state := c.puller.State(c.service, w.Desired.AttemptID, ref)
		state.Ref = ref
		return state, nil
	}
	return ImageState{}, fmt.Errorf("look for image %s on the engine: %w", ref, err)
}

// gatherDependencies looks for what a release that is about to start depends on.
func (c *Controller) gatherDependencies(ctx context.Context, w *World) error {
	if len(w.Desired.Spec.DependsOn) == 0 {
		c.memory.noteWaiting(c.service, false)
		return nil
	}
	defer func() { c.memory.noteWaiting(c.service, len(w.Dependencies) > 0 && !w.Attempt.State.Final()) }()
	if w.Release == nil || !w.comesUp() || w.Active != nil && w.Active.ReleaseID == w.Release.ID || w.begun(w.Release) {
		return nil
	}
	for _, d := range w.Release.Spec.DependsOn {
		missing, failed, err := c.dependency(ctx, w.Desired.AppID, d)
		if err != nil {
			return err
		}
		if missing != "" {
			w.Dependencies = append(w.Dependencies, Unmet{Service: d.Service, Detail: missing, Failed: failed, Quiet: d.Condition == spec.DependsStarted})
		}
	}
	return nil
}

// dependency says what a dependency lacks, or "".
func (c *Controller) dependency(ctx context.Context, app string, d spec.Dependency) (missing string, failed bool, err error) {
	full := app + "-" + d.Service
	if d.Condition == spec.DependsStarted {
		list, err := c.rt.List(ctx, c.labelsOf(full))
		if err != nil {
			return "", false, fmt.Errorf("list containers of %s: %w", full, err)
		}
		for i := range list {
			if list[i].Running() {
				return "", false, nil
			}
		}
		return "no container of it runs yet", false, nil
	}
	desired, err := c.store.GetDesiredService(ctx, full)
	switch {
	case errors.Is(err, store.ErrServiceNotFound):
		return "there is no such service", true, nil
	case err != nil:
		return "", false, storeError("read service "+full, err)
	}
	return c.dependencySettled(ctx, desired, d.Condition)
}

// dependencySettled asks how the newest change of a dependency went, and whether
// it serves.
func (c *Controller) dependencySettled(ctx context.Context, d *store.DesiredService, want spec.DependsStatus) (missing string, failed bool, err error) {
	a, err := c.store.GetAttempt(ctx, d.AttemptID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", false, storeError(fmt.Sprintf("read attempt %d", d.AttemptID), err)
	}
	active, err := c.store.GetActiveRelease(ctx, d.Name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", false, storeError("read the active release of "+d.Name, err)
	}
	there := err == nil && (want == spec.DependsCompleted || len(active.Targets) > 0)
	for _, part := range a.Services {
		switch {
		case part.Service != d.Name:
		case part.State == store.AttemptFailed && there && part.ReleaseID == active.ReleaseID: // a later try came through
		case part.State == store.AttemptFailed:
			return fmt.Sprintf("its last change failed (%s)", part.Reason), true, nil
		case !part.State.Final() && want == spec.DependsCompleted:
			return "it has not run to its end yet", false, nil
		case !part.State.Final():
			return "it is not ready yet", false, nil
		}
	}
	switch {
	case there:
		return "", false, nil
	case active.ReleaseID == "":
		return "it is not ready yet", false, nil
	}
	return "no replica of it serves", false, nil
}
