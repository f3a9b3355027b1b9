package workloads

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/internal/workfile"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/rollout"
)

// With is what stands beside a request.
type With struct {
	// Initiator is who asked, for people.
	Initiator string

	// Notes are kept with the release.
	Notes string

	// DryRun answers what would change and changes nothing.
	DryRun bool
}

func (w With) rollout() rollout.With { return rollout.With{Initiator: w.Initiator, Notes: w.Notes} }

// Apply makes a workload what a file says: it creates it, or brings a release, or
// finds that there is nothing to do.
func (s *Service) Apply(ctx context.Context, file *workfile.Workload, with With) (wire.WorkloadChange, error) {
	out, err := s.apply(ctx, file, with)
	return out, inFile(file, s.saidOf(ctx, file.Request.Name, err))
}

func (s *Service) apply(ctx context.Context, file *workfile.Workload, with With) (wire.WorkloadChange, error) {
	req := file.Request
	req.TenantID = s.cfg.Tenant
	req.Services = provider.CloneServices(req.Services)
	if err := s.pin(ctx, req.Services); err != nil {
		return wire.WorkloadChange{}, err
	}
	r, err := s.row(ctx, req.Name)
	if errors.Is(err, provider.ErrNotFound) {
		return s.create(ctx, file, req, with)
	}
	if err != nil {
		return wire.WorkloadChange{}, err
	}
	if err := s.sameProvider(r, file.Provider); err != nil {
		return wire.WorkloadChange{}, err
	}
	return s.change(ctx, r, req, file.Strategy, with)
}

// sameProvider refuses to move a workload.
func (s *Service) sameProvider(r row, name string) error {
	if name == "" || name == r.Provider {
		return nil
	}
	key, _, err := s.cfg.Registry.Resolve(name)
	if err != nil || key == r.Provider {
		return noProvider(err)
	}
	return &ShapeError{Name: r.Name, Differs: []string{fmt.Sprintf("provider: it is with %s", r.Provider)}}
}

// create gives a name to a new workload and provisions it.
func (s *Service) create(ctx context.Context, file *workfile.Workload, req provider.ProvisionRequest, with With) (wire.WorkloadChange, error) {
	key, _, err := s.resolve(file.Provider)
	if err != nil {
		return wire.WorkloadChange{}, noProvider(err)
	}
	// The first release needs no strategy; that the next one would be refused for
	// it is said now.
	r := row{Name: req.Name, Provider: key, Shape: shapeOf(req)}
	if err := s.check(ctx, key, s.wanted(r, req.Services), deployBounds{strategy: file.Strategy, rollout: req.Rollout}); err != nil {
		return wire.WorkloadChange{}, err
	}
	out := wire.WorkloadChange{Name: req.Name, Provider: key, Action: wire.WorkloadCreate, Changes: created(req.Services, file.Strategy)}
	if with.DryRun {
		return out, nil
	}
	r.ID, r.CreatedAt = s.cfg.NewID(id.KindWorkload), s.now()
	if err := s.put(ctx, &r); err != nil {
		if errors.Is(err, provider.ErrConflict) {
			err = fmt.Errorf("%w: another request has just created a workload %s", provider.ErrConflict, req.Name)
		}
		return out, err
	}
	return s.provision(ctx, r, req, file.Strategy, with)
}

func (s *Service) resolve(name string) (string, provider.Provider, error) {
	if name == "" {
		return s.cfg.Registry.ResolveDefault()
	}
	return s.cfg.Registry.Resolve(name)
}

// provision begins the first release of a workload. A workload whose request was
// refused before anything was recorded leaves no row behind.
func (s *Service) provision(ctx context.Context, r row, req provider.ProvisionRequest, strategy string, with With) (wire.WorkloadChange, error) {
	out := wire.WorkloadChange{
		Name: r.Name, ID: r.ID.String(), Provider: r.Provider, Action: wire.WorkloadCreate, Changes: created(req.Services, strategy),
	}
	before, err := s.newest(ctx, r.ID)
	if err != nil {
		return out, err
	}
	req.InstanceID = r.ID
	ro, err := s.roll(ctx, r, idOf(before), func(ctx context.Context) (*rollout.Result, error) {
		return s.rollouts.Provision(ctx, r.Provider, req, with.rollout())
	})
	if err != nil {
		if before == nil {
			err = errors.Join(err, s.dropUnused(ctx, r))
		}
		return out, err
	}
	out.Rollout = s.wireRollout(ctx, r, ro, nil)
	return out, nil
}

// dropUnused removes a workload of which the provider took nothing in.
func (s *Service) dropUnused(ctx context.Context, r row) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	newest, err := s.newest(ctx, r.ID)
	if err != nil || newest != nil && !newest.Untouched {
		return err
	}
	if err := s.rollouts.Deprovision(ctx, r.ID); err != nil {
		return err
	}
	return s.drop(ctx, r)
}

func idOf(r *rollout.Rollout) id.ID {
	if r == nil {
		return id.Nil
	}
	return r.ID
}

// change makes an existing workload what a request says.
func (s *Service) change(ctx context.Context, r row, req provider.ProvisionRequest, strategy string, with With) (wire.WorkloadChange, error) {
	if r.Removing {
		return wire.WorkloadChange{}, removing(r)
	}
	have, err := s.history(ctx, r)
	if err != nil {
		return wire.WorkloadChange{}, err
	}
	if differs := r.Shape.differs(shapeOf(req)); len(differs) > 0 {
		if !have.untouched {
			return wire.WorkloadChange{}, &ShapeError{Name: r.Name, Differs: differs}
		}
		if !with.DryRun {
			if r, err = s.edit(ctx, r, func(r *row) { r.Shape = shapeOf(req) }); err != nil {
				return wire.WorkloadChange{}, err
			}
		}
	}
	if have.current == nil && (have.base == nil || have.open == nil) {
		return s.provisionAgain(ctx, r, req, have, strategy, with)
	}
	return s.deploy(ctx, r, have, s.wanted(r, req.Services), deployBounds{strategy: strategy, rollout: req.Rollout, set: true}, with)
}

// provisionAgain is for a workload of which nothing has served: the same request
// tries again, one that the provider refused is replaced, and anything else is a
// change of the first release.
func (s *Service) provisionAgain(ctx context.Context, r row, req provider.ProvisionRequest, have history, strategy string, with With) (wire.WorkloadChange, error) {
	bounds := deployBounds{strategy: strategy, rollout: req.Rollout, set: true}
	if err := s.check(ctx, r.Provider, s.wanted(r, req.Services), bounds); err != nil {
		return wire.WorkloadChange{}, err
	}
	if with.DryRun && have.base != nil && !have.untouched {
		out, err := s.deploy(ctx, r, have, s.wanted(r, req.Services), bounds, with)
		if err != nil || out.Action == wire.WorkloadDeploy {
			return out, err
		}
	}
	if with.DryRun {
		return wire.WorkloadChange{Name: r.Name, ID: r.ID.String(), Provider: r.Provider, Action: wire.WorkloadCreate, Changes: created(req.Services, strategy)}, nil
	}
	out, err := s.provision(ctx, r, req, strategy, with)
	if !errors.Is(err, provider.ErrConflict) || have.base == nil {
		return out, err
	}
	return s.deploy(ctx, r, have, s.wanted(r, req.Services), bounds, with)
}

// history is what the records say about a workload.
type history struct {
	newest *rollout.Rollout
	open   *rollout.Rollout

	// current is the release that last succeeded, and base what a deploy adds to:
	// that, or the first release. Nil where there is none.
	current, base *rollout.Release

	// last is the rollout that last succeeded.
	last *rollout.Rollout

	// untouched means that the provider never took anything in.
	untouched bool
}

// labels are what people call what its records name.
func (h history) labels(r row) labels { return labelsOf(r, h.last, h.open, h.newest) }

func (s *Service) history(ctx context.Context, r row) (history, error) {
	list, _, err := s.rollouts.Rollouts(ctx, r.ID, rollout.Page{Limit: rollout.MaxPage})
	if errors.Is(err, provider.ErrNotFound) {
		return history{untouched: true}, nil
	}
	if err != nil {
		return history{}, err
	}
	out := history{untouched: true}
	for i := range list {
		ro := &list[i]
		if i == 0 {
			out.newest = ro
		}
		if !ro.Ended() {
			out.open = ro
		}
		if out.last == nil && ro.State == rollout.StateSucceeded {
			out.last = ro
		}
		out.untouched = out.untouched && ro.Untouched
	}
	if out.current, err = s.rollouts.Current(ctx, r.ID); err != nil && !errors.Is(err, provider.ErrNotFound) {
		return history{}, err
	}
	if out.base = out.current; out.base == nil {
		first := provider.ProvisionRequest{InstanceID: r.ID}.InitialRelease()
		if out.base, err = s.rollouts.Release(ctx, r.ID, first); err != nil && !errors.Is(err, provider.ErrNotFound) {
			return history{}, err
		}
	}
	return out, nil
}

func removing(r row) error {
	return fmt.Errorf("%w: workload %s is being deleted", provider.ErrConflict, r.Name)
}
