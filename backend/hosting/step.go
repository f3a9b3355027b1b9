package hosting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
)

// alone has fn called while no other Step of the lease is under way. The context
// that fn gets ends when a Deprovision comes, which overtaken then says.
func (h *Hosting) alone(ctx context.Context, lease string, fn func(context.Context) error) (overtaken bool, err error) {
	leave, err := h.steps.take(ctx, lease)
	if err != nil {
		return false, err
	}
	defer leave()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	h.onPreempt(lease, cancel)
	defer h.onPreempt(lease, nil)
	err = fn(inner)
	return ctx.Err() == nil && inner.Err() != nil, err
}

func (h *Hosting) onPreempt(lease string, cancel context.CancelFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cancel == nil {
		delete(h.stepping, lease)
		return
	}
	h.stepping[lease] = cancel
}

// preempt ends the Step of a lease that is under way: what it would come to is
// overtaken. The next one waits until it is out.
func (h *Hosting) preempt(lease string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cancel := h.stepping[lease]; cancel != nil {
		cancel()
	}
}

// Leases is every lease that Step is to be called for, and the Reaper.
func (h *Hosting) Leases(ctx context.Context) ([]string, error) {
	all, _ := h.rows.page("", 0)
	seen := make(map[string]bool, len(all))
	out := make([]string, 0, len(all)+1)
	out = append(out, Reaper)
	for _, r := range all {
		seen[r.Lease] = true
		out = append(out, r.Lease)
	}
	waiting, err := h.cfg.Outbox.Pending(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the callbacks that wait: %w", err)
	}
	for _, lease := range append(waiting, h.rows.doubted()...) {
		if !seen[lease] {
			seen[lease] = true
			out = append(out, lease)
		}
	}
	return out, nil
}

// soon asks for another Step at once.
const soon = time.Millisecond

// Step makes one step towards what the lease's row says, and sends its callbacks,
// also when the provider or the store fails. It returns when to be called again at the
// latest; 0 is when Watch tells of the lease. After an error that is for the caller to
// say.
func (h *Hosting) Step(ctx context.Context, lease string) (time.Duration, error) {
	if lease == Reaper {
		return h.sweep(ctx)
	}
	var again time.Duration
	overtaken, err := h.alone(ctx, lease, func(ctx context.Context) (err error) {
		again, err = h.advance(ctx, lease)
		return err
	})
	switch {
	case overtaken:
		return soon, nil
	case err != nil:
		err = fmt.Errorf("lease %s: %w", lease, err)
	}
	next, sending := h.cfg.Outbox.Step(ctx, lease)
	if sending != nil {
		sending = fmt.Errorf("callbacks of lease %s: %w", lease, sending)
	}
	return sooner(again, next), errors.Join(err, sending)
}

// advance is Step without the callbacks.
func (h *Hosting) advance(ctx context.Context, lease string) (time.Duration, error) {
	k, err := h.current(ctx, lease)
	switch {
	case err != nil:
		return 0, err
	case k.row == nil:
		return 0, nil
	case len(k.row.Pending) > 0:
		err := h.handOn(ctx, k)
		if err == nil || k.row.Gone || k.row.Status != backend.ProvisionStatusDeprovisioning {
			return soon, err
		}
		// What a lease has is given back though nobody takes its callbacks.
		again, stepping := h.follow(ctx, k)
		return again, errors.Join(err, stepping)
	case k.row.Gone:
		// Its last callback may have been taken before this: whoever calls forgets what it
		// remembers of a lease that is not known any more.
		return soon, h.bury(ctx, k)
	}
	return h.follow(ctx, k)
}

// follow makes what is true follow a row.
func (h *Hosting) follow(ctx context.Context, k kept) (time.Duration, error) {
	if next := steadied(k.row, h.cfg.Now(), h.cfg.Timing); next != nil {
		h.cfg.Logger.WarnContext(ctx, "the clock was put back; what a lease waits for comes no later", "lease", k.row.Lease)
		return soon, h.write(ctx, next, k)
	}
	if k.row.Names.Leaving {
		return h.depart(ctx, k)
	}
	unguarded := h.guarded(ctx, k.row)
	w, p, err := h.think(ctx, k.row, unguarded == nil)
	if errors.Is(err, errUnusable) && k.row.Op != nil {
		h.cfg.Logger.ErrorContext(ctx, "a manifest cannot be used", "lease", k.row.Lease, "error", err)
		return soon, h.conclude(ctx, refused(k.row, w, bounded(err.Error())), k)
	}
	if err != nil {
		return 0, errors.Join(err, unguarded)
	}
	if unguarded != nil {
		p = p.unguarded()
	}
	if next := h.reached(k.row, w); next != nil {
		return soon, h.write(ctx, next, k)
	}
	switch {
	case p.next != nil:
		return soon, h.conclude(ctx, p.next, k)
	case len(p.effects) > 0:
		again, err := h.carryOut(ctx, k, w, p)
		return again, errors.Join(err, unguarded)
	}
	next, again, err := h.wishes(ctx, k.row)
	if err == nil && next != nil {
		return soon, h.write(ctx, next, k)
	}
	return sooner(p.wait, again), errors.Join(err, unguarded)
}

// think observes and plans. A workload only goes on where it may start something.
func (h *Hosting) think(ctx context.Context, r *row, guarded bool) (*world, plan, error) {
	w, err := h.observe(ctx, r, guarded)
	if err != nil {
		return w, plan{}, err
	}
	h.remember(r, w)
	w.trouble = h.trouble(r.Lease)
	p := planStep(r, w)
	if p.confirm || h.unseen(r, w) {
		if w, err = h.observe(ctx, r, guarded); err == nil {
			w.trouble = h.trouble(r.Lease)
			p = planStep(r, w)
		}
	}
	return w, p, err
}

// current is the row that a Step goes by.
func (h *Hosting) current(ctx context.Context, lease string) (kept, error) {
	leave, err := h.rows.turn(ctx, lease)
	if err != nil {
		return kept{}, err
	}
	defer leave()
	return h.fresh(ctx, lease)
}

// write puts a row in the place of the one that was planned from; when somebody else
// changed that, nothing is written, and the next Step looks again.
func (h *Hosting) write(ctx context.Context, r *row, before kept) error {
	return h.replace(ctx, before, func() error {
		if before.row.Op != nil && r.Op == nil {
			if err := h.rows.keepManifests(ctx, r.Lease, before.row.Releases); err != nil {
				return err
			}
		}
		if _, err := h.rows.put(ctx, r, before.version); err != nil {
			return err
		}
		if !r.runs() {
			h.settle(r.Lease, r)
		}
		return nil
	})
}

// replace calls fn in the turn of a row, if that still is the one that was read and
// the Step is not overtaken.
func (h *Hosting) replace(ctx context.Context, before kept, fn func() error) error {
	lease := before.row.Lease
	leave, err := h.rows.turn(ctx, lease)
	if err != nil {
		return err
	}
	defer leave()
	if h.rows.get(lease).version != before.version || h.rows.inDoubt(lease) {
		return nil
	}
	defer h.resolve(ctx, lease)
	return fn()
}

// handOn gives callbacks to the outbox and then forgets them. One that no outbox will
// ever take is left out, so that it does not hold up its lease.
func (h *Hosting) handOn(ctx context.Context, k kept) error {
	for _, p := range k.row.Pending {
		p.Payload.Backend = h.cfg.Name
		err := h.cfg.Outbox.Add(ctx, p.Op, k.row.Lease, p.URL, p.Payload)
		if errors.Is(err, outbox.ErrInvalid) {
			h.cfg.Logger.ErrorContext(ctx, "a callback cannot be sent", "lease", k.row.Lease, "error", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("hand on a callback: %w", err)
		}
	}
	next := k.row.clone()
	next.Pending = nil
	return h.write(ctx, next, k)
}

// bury deletes what is kept of a lease that is gone, unless it is provisioned anew.
func (h *Hosting) bury(ctx context.Context, k kept) error {
	return h.replace(ctx, k, func() error {
		if err := h.rows.keepManifests(ctx, k.row.Lease, nil); err != nil {
			return err
		}
		h.forget(k.row.Lease)
		h.hear(k.row.Lease, nil)
		return h.rows.drop(ctx, k)
	})
}
