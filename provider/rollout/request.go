package rollout

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// With is what may be said beside a request.
type With struct {
	// Initiator is who asked, for people.
	Initiator string

	// Notes are kept with a new release.
	Notes string

	// Timeout takes the place of Policy.Deadline.
	Timeout time.Duration

	// Wait drives the rollout to its end before the call returns. Without it the
	// call makes the first pass, and Step or Run the others.
	Wait bool
}

// maxNote bounds Initiator and Notes, in bytes.
const maxNote = 1 << 10

func (w With) validate() error {
	if len(w.Initiator) > maxNote || len(w.Notes) > maxNote {
		return fmt.Errorf("%w: initiator and notes may have %d bytes each", provider.ErrInvalid, maxNote)
	}
	if w.Timeout < 0 {
		return fmt.Errorf("%w: a timeout of %s", provider.ErrInvalid, w.Timeout)
	}
	return nil
}

// Result is what a request led to.
type Result struct {
	// Status is provider.DeployAccepted or provider.DeploySucceeded.
	Status  string
	Rollout Rollout
	Release Release
}

// begin adds a rollout to a release, as the open one.
func (m *Manager) begin(rec *record, rel *Release, kind Kind, with With) *Rollout {
	now := m.now()
	services := map[string]Progress{}
	for _, s := range rel.Services {
		services[s.Name] = Progress{State: StatePending}
	}
	ro := rec.addRollout(Rollout{
		ID: m.opts.NewID(id.KindRollout), Kind: kind, Release: rel.ID, Ref: rel.Ref, ReleaseVersion: rel.Version, Base: rec.Current,
		State: StatePending, Services: services, Initiator: with.Initiator, CreatedAt: now,
		Deadline: now.Add(positive(with.Timeout, m.opts.Policy.Deadline)),
	})
	rec.Open = ro.ID
	return ro
}

// follow makes the first pass of a rollout, or all of them, and reports where it
// then is. That a first pass fails changes nothing about what is recorded, so it
// is not the request's failure.
func (m *Manager) follow(ctx context.Context, workload, rollout id.ID, with With) (*Result, error) {
	if with.Wait {
		if ro, err := m.Run(ctx, workload, rollout); ro == nil {
			return nil, err
		}
	} else if _, err := m.Step(ctx, workload); err != nil {
		m.opts.Logger.WarnContext(ctx, "first pass failed", "workload", workload.String(), "error", err.Error())
	}
	rec, _, err := m.load(ctx, workload)
	if err != nil {
		return nil, err
	}
	return resultOf(rec, rollout)
}

// resultOf is the rollout as the record has it, with its error when it ended
// otherwise than well.
func resultOf(rec *record, rollout id.ID) (*Result, error) {
	ro := rec.rollout(rollout)
	if ro == nil {
		return nil, fmt.Errorf("%w: rollout %s of workload %s", provider.ErrNotFound, rollout, rec.Workload)
	}
	out := &Result{Status: provider.DeployAccepted, Rollout: *ro}
	if ro.State == StateSucceeded {
		out.Status = provider.DeploySucceeded
	}
	if rel := rec.release(ro.Release); rel != nil {
		out.Release = *rel
	}
	return out, ro.Err()
}

// need refuses what a provider does not advertise.
func need(p provider.Provider, capabilities ...provider.Capability) error {
	for _, c := range capabilities {
		if !provider.HasCapability(p, c) {
			return fmt.Errorf("%w: provider %s has no capability %q", provider.ErrNotSupported, provider.TypeName(p), c)
		}
	}
	return nil
}
