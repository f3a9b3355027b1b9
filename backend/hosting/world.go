package hosting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// world is what a plan stands on.
type world struct {
	now    time.Time
	timing Timing
	// stack is the manifest that is to be; nil where no plan needs it.
	stack *manifest.Stack
	// status is what the provider says of each workload, nil of one that it does not
	// know.
	status map[id.ID]*provider.InstanceStatus
	// again is when the provider wants the next step of a workload; 0 is not.
	again time.Duration
}

// observe looks at everything that belongs to a lease.
func (h *Hosting) observe(ctx context.Context, r *row) (*world, error) {
	w := &world{now: h.cfg.Now(), timing: h.cfg.Timing, status: map[id.ID]*provider.InstanceStatus{}}
	for _, one := range r.Workloads {
		if err := h.look(ctx, w, one.Instance, true); err != nil {
			return nil, err
		}
	}
	for _, instance := range r.Old {
		if err := h.look(ctx, w, instance, false); err != nil {
			return nil, err
		}
	}
	if version := r.manifestVersion(); version > 0 && len(r.Workloads) > 0 {
		payload, err := h.rows.manifest(ctx, r.Lease, version)
		if err != nil {
			return nil, err
		}
		if w.stack, err = manifest.Parse(payload); err != nil {
			return nil, fmt.Errorf("manifest %d of lease %s: %w", version, r.Lease, err)
		}
	}
	return w, nil
}

// look asks for the status of one workload, after it had its chance to go on.
func (h *Hosting) look(ctx context.Context, w *world, instance id.ID, step bool) error {
	if stepper, ok := h.cfg.Provider.(provider.Stepper); ok && step {
		again, err := stepper.Step(ctx, instance)
		if err != nil && !errors.Is(err, provider.ErrNotFound) {
			return fmt.Errorf("step workload %s: %w", instance, err)
		}
		w.again = sooner(w.again, again)
	}
	st, err := h.cfg.Provider.Status(ctx, instance)
	switch {
	case errors.Is(err, provider.ErrNotFound):
		w.status[instance] = nil
	case err != nil:
		return fmt.Errorf("status of workload %s: %w", instance, err)
	default:
		w.status[instance] = st
	}
	return nil
}

// sooner is the shorter of two waits, of which zero is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
