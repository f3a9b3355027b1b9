package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

// View is one workload as the planner's store. It reads the document as this
// process last saw it: whoever runs a pass loads it first and holds the
// workload's lock.
type View struct {
	*Store
	workload id.ID
	// redact takes known values of secrets out of what is about to be kept.
	redact func(ctx context.Context, text string) string
	logger *slog.Logger
}

// View is the planner's store of a workload. redact is called with every text
// that came out of a container, before it is kept.
func (s *Store) View(workload id.ID, redact func(context.Context, string) string, logger *slog.Logger) *View {
	return &View{Store: s, workload: workload, redact: redact, logger: logger}
}

// GetDesiredService is store.ErrServiceNotFound before a Provision was accepted
// and once a Deprovision has begun.
func (v *View) GetDesiredService(ctx context.Context, name string) (*store.DesiredService, error) {
	w, err := v.Known(ctx, v.workload)
	switch {
	case errors.Is(err, provider.ErrNotFound):
		return nil, fmt.Errorf("%s: %w", name, store.ErrServiceNotFound)
	case err != nil:
		return nil, err
	case !w.Accepts() || w.Desired == nil || w.Desired.Name != name:
		return nil, fmt.Errorf("%s: %w", name, store.ErrServiceNotFound)
	}
	d := *w.Desired
	return &d, nil
}

// GetAttempt reads an attempt, while it is kept.
func (v *View) GetAttempt(ctx context.Context, number int64) (store.Attempt, error) {
	w, err := v.document(ctx)
	if err != nil {
		return store.Attempt{}, err
	}
	i := slices.IndexFunc(w.Attempts, func(a store.Attempt) bool { return a.ID == number })
	if i < 0 {
		return store.Attempt{}, fmt.Errorf("attempt %d of %s: %w", number, v.workload, store.ErrNotFound)
	}
	a := w.Attempts[i]
	a.Services = slices.Clone(a.Services)
	return a, nil
}

// document is the present document, with store.ErrNotFound when there is none.
func (v *View) document(ctx context.Context) (*Workload, error) {
	w, err := v.Known(ctx, v.workload)
	if errors.Is(err, provider.ErrNotFound) {
		return nil, fmt.Errorf("record of %s: %w", v.workload, store.ErrNotFound)
	}
	return w, err
}

// UpdateAttemptService records the progress of an attempt. A final one is left
// as it is.
func (v *View) UpdateAttemptService(ctx context.Context, u store.AttemptService) error {
	u.Message = v.redact(ctx, u.Message)
	_, err := v.Change(ctx, v.workload, func(w *Workload) error {
		a := w.Attempt(u.AttemptID)
		if a == nil {
			return fmt.Errorf("attempt %d of %s: %w", u.AttemptID, u.Service, store.ErrNotFound)
		}
		if a.State.Final() {
			return nil
		}
		if u.ReleaseID == "" {
			u.ReleaseID = a.ReleaseID
		}
		if u.UpdatedAt.IsZero() {
			u.UpdatedAt = v.now()
		}
		u.Action = a.Action
		*a = u
		w.settle(u.AttemptID, u.State, u.UpdatedAt)
		return nil
	})
	return gone(err)
}

// settle gives an attempt the state of its one service.
func (w *Workload) settle(number int64, state store.AttemptState, now time.Time) {
	for i := range w.Attempts {
		if a := &w.Attempts[i]; a.ID == number && a.State != state {
			a.State = state
			if state.Final() {
				a.FinishedAt = now
			}
		}
	}
}

// gone makes the want of a document what the planner knows.
func gone(err error) error {
	if errors.Is(err, provider.ErrNotFound) && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: %w", store.ErrNotFound, err)
	}
	return err
}

// CreateRelease numbers and stores what the wanted revision came to. The same
// again is returned as it is.
func (v *View) CreateRelease(ctx context.Context, r store.Release) (store.Release, error) {
	if r.Service == "" {
		return r, errors.New("a release names its service")
	}
	_, err := v.Change(ctx, v.workload, func(w *Workload) error {
		if w.Desired == nil || w.Desired.AttemptID != r.AttemptID {
			return fmt.Errorf("release of attempt %d of %s, which is not the present one: %w", r.AttemptID, r.Service, store.ErrConflict)
		}
		if newest := w.newestPlanned(); newest != nil && newest.Revision == w.Goal && sameRelease(&newest.Release, &r) {
			r = newest.Release
			return nil
		}
		if r.CreatedAt.IsZero() {
			r.CreatedAt = v.now()
		}
		w.LastPlanned++
		r.Version = w.LastPlanned
		r.ID = fmt.Sprintf("%s-v%d", r.Service, r.Version)
		w.Planned = append(w.Planned, Planned{Revision: w.Goal, Release: r})
		if rev := w.Revision(w.Goal); rev != nil {
			rev.Planned = r.ID
		}
		return nil
	})
	return r, gone(err)
}

func (w *Workload) newestPlanned() *Planned {
	if len(w.Planned) == 0 {
		return nil
	}
	return &w.Planned[len(w.Planned)-1]
}

// sameRelease reports whether a release is what the other one records, but for
// when and for which attempt.
func sameRelease(a, b *store.Release) bool {
	return a.Service == b.Service && a.Nonce == b.Nonce && a.Resolved == b.Resolved && a.ImageID == b.ImageID &&
		slices.Equal(a.Members, b.Members) && sameJSON(a.Spec, b.Spec)
}

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// GetRelease reads a release of the planner.
func (v *View) GetRelease(ctx context.Context, release string) (store.Release, error) {
	w, err := v.document(ctx)
	if err != nil {
		return store.Release{}, err
	}
	if r := w.PlannedRelease(release); r != nil {
		return *r, nil
	}
	return store.Release{}, fmt.Errorf("release %s: %w", release, store.ErrNotFound)
}

// GetActiveRelease is store.ErrNotFound when none is active.
func (v *View) GetActiveRelease(ctx context.Context, service string) (store.ActiveRelease, error) {
	w, err := v.document(ctx)
	switch {
	case err != nil:
		return store.ActiveRelease{}, err
	case w.Active == nil || w.Deleting:
		return store.ActiveRelease{}, fmt.Errorf("active release of %s: %w", service, store.ErrNotFound)
	}
	a := *w.Active
	a.Targets = slices.Clone(a.Targets)
	return a, nil
}

// SetActiveRelease records which release serves and through which containers,
// under the next version. The same again keeps its version.
func (v *View) SetActiveRelease(ctx context.Context, a store.ActiveRelease) (store.ActiveRelease, error) {
	if a.Service == "" || a.ReleaseID == "" {
		return a, fmt.Errorf("an active release names its service (%q) and release (%q)", a.Service, a.ReleaseID)
	}
	_, err := v.Change(ctx, v.workload, func(w *Workload) error {
		if old := w.Active; old != nil {
			if old.ReleaseID == a.ReleaseID {
				a.Since = old.Since
			}
			a.Version = old.Version
			if sameJSON(*old, a) {
				return nil
			}
		}
		if a.Since.IsZero() {
			a.Since = v.now()
		}
		w.LastRoute++
		a.Version = w.LastRoute
		row := a
		w.Active = &row
		w.noteServing()
		return nil
	})
	return a, gone(err)
}

// noteServing remembers that a release serves. One that is active and has no
// container to take traffic at the moment is what served before, or the same
// content under another id.
func (w *Workload) noteServing() {
	rev := w.Serving()
	if rev == nil {
		return
	}
	rev.Served = true
	if n := len(w.Served); n == 0 || w.Served[n-1] != rev.Release {
		w.Served = append(w.Served, rev.Release)
	}
}

// AppendTrace logs the steps of a rollout: nobody reads them later.
func (v *View) AppendTrace(ctx context.Context, events ...store.TraceEvent) error {
	for _, e := range events {
		v.logger.DebugContext(ctx, "rollout", "workload", v.workload.String(), "phase", e.Phase, "status", e.Status, "container", e.Container)
	}
	return nil
}

// TakeAddress gives a container an address of the workload's network.
func (v *View) TakeAddress(ctx context.Context, q store.AddressRequest) (netip.Addr, error) {
	return v.takeAddress(ctx, q)
}
