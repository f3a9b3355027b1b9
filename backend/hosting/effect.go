package hosting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// carryOut performs effects. What the provider was told to change is noted, also when
// another effect failed, so that it is not told twice; a crash in between tells it
// twice, which does no harm.
func (h *Hosting) carryOut(ctx context.Context, k kept, w *world, p plan) (time.Duration, error) {
	next := k.row.clone()
	noted, again := false, soon
	var failures []error
	for _, e := range p.effects {
		err := h.perform(ctx, next, w, e)
		if next.Op != nil && e.verb.changesWorkload() && hopeless(err) {
			h.cfg.Logger.ErrorContext(ctx, "the provider refuses what a lease needs", "lease", next.Lease, "service", e.service, "error", err)
			return soon, h.conclude(ctx, refused(next, w, bounded(err.Error())), k)
		}
		if errors.Is(err, errStillThere) {
			again = w.timing.Recheck
			continue
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s %s: %w", e.verb, e.instance, err))
			continue
		}
		noted = next.note(e, w) || noted
	}
	h.hear(next.Lease, failures)
	if noted {
		if err := h.write(ctx, next, k); err != nil {
			failures = append(failures, err)
		}
	}
	return again, errors.Join(failures...)
}

// hopeless reports whether a call would fail the same way again.
func hopeless(err error) bool {
	for _, kind := range []error{
		backend.ErrValidation, provider.ErrInvalid, provider.ErrNotSupported, provider.ErrUnsupportedSource, provider.ErrConflict, provider.ErrNoRecord, provider.ErrNotFound,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// note remembers an effect that is not to be repeated, and reports whether it is one.
func (r *row) note(e effect, w *world) bool {
	mark := func(m *map[string]bool) {
		if *m == nil {
			*m = map[string]bool{}
		}
		(*m)[e.service] = true
	}
	switch e.verb {
	case doProvision, doOwn, doSpill, doGiveUp, doGiveBack, doEmpty, doKeep:
		return false
	case doDeprovision:
		r.Old = slices.DeleteFunc(r.Old, func(old id.ID) bool { return old == e.instance })
	case doRestart, doDeploy, doReturn:
		mark(&r.Op.Done)
	case doRollback:
		mark(&r.Op.Back)
		r.Op.BackBy = w.now.Add(w.timing.Rollback)
	}
	return true
}

func (h *Hosting) perform(ctx context.Context, r *row, w *world, e effect) error {
	if !e.verb.changesWorkload() && e.verb != doDeprovision {
		return h.performOnSet(ctx, r, w, e)
	}
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timing.Call)
	defer cancel()
	switch e.verb {
	case doProvision:
		req, err := h.request(ctx, r, w, e)
		if err != nil {
			return err
		}
		_, err = h.cfg.Provider.Provision(ctx, req)
		return err
	case doDeploy:
		item := r.item(e.service)
		at, err := h.place(ctx, r, w, e.service)
		if err != nil {
			return err
		}
		one, err := w.stack.Workload(item, at)
		if err != nil {
			return err
		}
		_, err = h.cfg.Provider.Deploy(ctx, provider.DeployRequest{
			InstanceID: e.instance, ReleaseID: e.release, Services: one.Change(),
			Rollout: &provider.RolloutSpec{ReadyTimeout: patience(h.cfg.Timing.Replace)},
		})
		return err
	case doRestart:
		return h.cfg.Provider.Restart(ctx, e.instance)
	case doRollback, doReturn:
		return h.cfg.Provider.Rollback(ctx, e.instance, e.release)
	case doDeprovision:
		return h.remove(ctx, e.instance)
	}
	return fmt.Errorf("%q is nothing to do", e.verb)
}

// performOnSet does something to the volumes of a lease. Each call of the provider in it
// has its own time.
func (h *Hosting) performOnSet(ctx context.Context, r *row, w *world, e effect) error {
	switch e.verb {
	case doOwn:
		return h.own(ctx, r, w)
	case doSpill:
		return h.left(ctx, r, h.spill(ctx, r))
	case doGiveUp:
		return h.left(ctx, r, h.giveUp(ctx, r))
	case doGiveBack:
		return h.left(ctx, r, h.giveBack(ctx, r.Set, r.Lease))
	case doEmpty:
		return h.empty(ctx, r.Set)
	case doKeep:
		return h.keep(ctx, r)
	}
	return fmt.Errorf("%q is nothing to do", e.verb)
}

// errStillThere is a workload that the provider has begun to remove.
var errStillThere = errors.New("it is still there")

// remove deprovisions a workload, and fails unless it is gone then.
func (h *Hosting) remove(ctx context.Context, instance id.ID) error {
	if err := h.cfg.Provider.Deprovision(ctx, instance); err != nil {
		return err
	}
	st, err := h.cfg.Provider.Status(ctx, instance)
	switch {
	case errors.Is(err, provider.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%w, and %s", errStillThere, st.State)
}

// request is what a service is provisioned by.
func (h *Hosting) request(ctx context.Context, r *row, w *world, e effect) (provider.ProvisionRequest, error) {
	at, err := h.place(ctx, r, w, e.service)
	if err != nil {
		return provider.ProvisionRequest{}, err
	}
	one, err := w.stack.Workload(r.item(e.service), at)
	if err != nil {
		return provider.ProvisionRequest{}, err
	}
	req := one.Request
	req.InstanceID, req.ReleaseID, req.TenantID = e.instance, e.release, r.Tenant
	req.Network = r.Lease // of its own: other leases of the tenant are no neighbours
	req.Rollout = &provider.RolloutSpec{ReadyTimeout: patience(h.cfg.Timing.Provision)}
	return req, nil
}

func (r *row) item(service string) backend.LeaseItem {
	for _, item := range r.Items {
		if item.ServiceName == service {
			return item
		}
	}
	return backend.LeaseItem{}
}
