package hosting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/provider"
)

// stepping is the one Step of a lease that is under way, and how it is ended.
type stepping struct {
	turn    chan struct{} // holds one token
	waiting int
	cancel  context.CancelFunc // of the one that has the turn
}

// lock waits for the lease's turn. The context it returns ends when a Deprovision
// comes.
func (h *Hosting) lock(ctx context.Context, lease string) (context.Context, func(), error) {
	h.mu.Lock()
	s := h.steps[lease]
	if s == nil {
		s = &stepping{turn: make(chan struct{}, 1)}
		s.turn <- struct{}{}
		h.steps[lease] = s
	}
	s.waiting++
	h.mu.Unlock()
	leave := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if s.waiting--; s.waiting == 0 {
			delete(h.steps, lease)
		}
	}
	select {
	case <-s.turn:
	case <-ctx.Done():
		leave()
		return nil, nil, ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	h.mu.Lock()
	s.cancel = cancel
	h.mu.Unlock()
	return ctx, func() {
		cancel()
		h.mu.Lock()
		s.cancel = nil
		h.mu.Unlock()
		s.turn <- struct{}{}
		leave()
	}, nil
}

// preempt ends the Step of a lease that is under way: what it would come to is
// overtaken. The next one waits until it is out.
func (h *Hosting) preempt(lease string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.steps[lease]; s != nil && s.cancel != nil {
		s.cancel()
	}
}

// Leases is every lease that Step is to be called for.
func (h *Hosting) Leases(ctx context.Context) ([]string, error) {
	all, _ := h.rows.page("", 0)
	seen := make(map[string]bool, len(all))
	out := make([]string, 0, len(all))
	for _, r := range all {
		seen[r.Lease] = true
		out = append(out, r.Lease)
	}
	waiting, err := h.cfg.Outbox.Pending(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the callbacks that wait: %w", err)
	}
	for _, lease := range waiting {
		if !seen[lease] {
			out = append(out, lease)
		}
	}
	return out, nil
}

// soon asks for another Step at once.
const soon = time.Millisecond

// Step makes one step towards what the lease's row says, and sends its callbacks. It
// returns when to be called again at the latest; 0 is when Watch tells of the lease.
func (h *Hosting) Step(ctx context.Context, lease string) (time.Duration, error) {
	inner, unlock, err := h.lock(ctx, lease)
	if err != nil {
		return 0, err
	}
	again, err := h.advance(inner, lease)
	overtaken := ctx.Err() == nil && inner.Err() != nil
	unlock()
	switch {
	case overtaken:
		return soon, nil
	case err != nil:
		return 0, fmt.Errorf("lease %s: %w", lease, err)
	}
	next, err := h.cfg.Outbox.Step(ctx, lease)
	if err != nil {
		return again, fmt.Errorf("callbacks of lease %s: %w", lease, err)
	}
	return sooner(again, next), nil
}

// advance is Step without the callbacks.
func (h *Hosting) advance(ctx context.Context, lease string) (time.Duration, error) {
	k := h.rows.get(lease)
	if k.row == nil {
		return 0, nil
	}
	if len(k.row.Pending) > 0 {
		return soon, h.handOn(ctx, k)
	}
	if k.row.Gone {
		return 0, h.bury(ctx, k)
	}
	w, err := h.observe(ctx, k.row)
	if err != nil {
		return 0, err
	}
	h.remember(k.row, w)
	p := planStep(k.row, w)
	if p.confirm {
		if w, err = h.observe(ctx, k.row); err != nil {
			return 0, err
		}
		p = planStep(k.row, w)
	}
	switch {
	case p.next != nil:
		return soon, h.write(ctx, p.next, k)
	case len(p.effects) > 0:
		return h.carryOut(ctx, k, w, p)
	}
	return p.wait, nil
}

// write puts a row; one that somebody else changed is looked at again.
func (h *Hosting) write(ctx context.Context, r *row, before kept) error {
	if err := ctx.Err(); err != nil {
		return err // overtaken: nothing of it is written
	}
	_, err := h.rows.put(ctx, r, before.version)
	if errors.Is(err, provider.ErrConflict) {
		h.rows.reread(ctx, r.Lease)
		return nil
	}
	if err == nil && !r.holds() {
		h.cfg.Pool.Release(r.Lease)
	}
	return err
}

// handOn gives callbacks to the outbox and then forgets them.
func (h *Hosting) handOn(ctx context.Context, k kept) error {
	for _, p := range k.row.Pending {
		p.Payload.Backend = h.cfg.Name
		if err := h.cfg.Outbox.Add(ctx, p.Op, k.row.Lease, p.URL, p.Payload); err != nil {
			return fmt.Errorf("hand on a callback: %w", err)
		}
	}
	next := k.row.clone()
	next.Pending = nil
	return h.write(ctx, next, k)
}

// bury deletes what is kept of a lease that is gone.
func (h *Hosting) bury(ctx context.Context, k kept) error {
	if err := h.rows.dropManifests(ctx, k.row.Lease); err != nil {
		return err
	}
	h.cfg.Pool.Release(k.row.Lease)
	h.forget(k.row.Lease)
	return h.rows.drop(ctx, k)
}

// carryOut performs effects. What the provider was told to change is noted, so that
// it is not told twice; a crash in between tells it twice, which does no harm.
func (h *Hosting) carryOut(ctx context.Context, k kept, w *world, p plan) (time.Duration, error) {
	next := k.row.clone()
	noted := false
	for _, e := range p.effects {
		err := h.perform(ctx, next, w, e)
		if next.Op != nil && hopeless(err) {
			h.cfg.Logger.ErrorContext(ctx, "the provider refuses what a lease needs", "lease", next.Lease, "service", e.service, "error", err)
			return soon, h.write(ctx, refused(k.row, w), k)
		}
		if err != nil {
			return 0, fmt.Errorf("%s %s: %w", e.verb, e.instance, err)
		}
		noted = next.note(e) || noted
	}
	if noted {
		return soon, h.write(ctx, next, k)
	}
	return soon, nil
}

// hopeless reports whether a call would fail the same way again.
func hopeless(err error) bool {
	for _, kind := range []error{provider.ErrInvalid, provider.ErrNotSupported, provider.ErrConflict, provider.ErrNoRecord} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// note remembers an effect that is not to be repeated.
func (r *row) note(e effect) bool {
	mark := func(m *map[string]bool) {
		if *m == nil {
			*m = map[string]bool{}
		}
		(*m)[e.service] = true
	}
	switch e.verb {
	case doRestart, doDeploy:
		mark(&r.Op.Done)
	case doRollback:
		mark(&r.Op.Back)
	case doProvision, doDeprovision:
		return false
	}
	return true
}

func (h *Hosting) perform(ctx context.Context, r *row, w *world, e effect) error {
	switch e.verb {
	case doProvision:
		req, err := h.request(r, w, e)
		if err != nil {
			return err
		}
		_, err = h.cfg.Provider.Provision(ctx, req)
		return err
	case doDeploy:
		item := r.item(e.service)
		one, err := h.workload(w.stack, item)
		if err != nil {
			return err
		}
		_, err = h.cfg.Provider.Deploy(ctx, provider.DeployRequest{InstanceID: e.instance, ReleaseID: e.release, Services: one.Change()})
		return err
	case doRestart:
		return h.cfg.Provider.Restart(ctx, e.instance)
	case doRollback:
		return h.cfg.Provider.Rollback(ctx, e.instance, e.release)
	case doDeprovision:
		return h.cfg.Provider.Deprovision(ctx, e.instance)
	}
	return fmt.Errorf("%q is nothing to do", e.verb)
}

// request is what a service is provisioned by.
func (h *Hosting) request(r *row, w *world, e effect) (provider.ProvisionRequest, error) {
	one, err := h.workload(w.stack, r.item(e.service))
	if err != nil {
		return provider.ProvisionRequest{}, err
	}
	req := one.Request
	req.InstanceID, req.ReleaseID, req.TenantID = e.instance, e.release, r.Tenant
	req.Network = r.Lease // of its own: other leases of the tenant are no neighbours
	req.Rollout = &provider.RolloutSpec{ReadyTimeout: h.cfg.Timing.Provision}
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
