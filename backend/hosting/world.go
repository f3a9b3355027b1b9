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
	// set is the record of the lease's volumes, nil while there is none; disks are those of
	// an instance of each service, in MB.
	set   *set
	disks map[string]int64
	// declared is what the images declare, nil where nobody has to ask.
	declared *declared
	// again is when the provider wants the next step of a workload; 0 is not.
	again time.Duration
	// trouble is why the last effects failed; "" where they did not.
	trouble string
}

// errUnusable is a manifest that is not there, or that this version cannot read.
var errUnusable = errors.New("manifest is not usable")

// observe looks at the workloads of a lease, after each had its chance to go on where
// step says so. Those that are to go have their turn first: nothing is looked at as
// long as there are any.
func (h *Hosting) observe(ctx context.Context, r *row, step bool) (*world, error) {
	w := &world{now: h.cfg.Now(), timing: h.cfg.Timing, status: map[id.ID]*provider.InstanceStatus{}}
	if len(r.Old) > 0 {
		return w, nil
	}
	if r.Set != "" {
		var err error
		if w.set, err = h.freshSet(ctx, r.Set); err != nil {
			return w, err
		}
		w.disks = h.disks(r.Items)
	}
	for _, one := range r.Workloads {
		if err := h.look(ctx, w, one.Instance, step); err != nil {
			return w, err
		}
	}
	if r.Op == nil || r.Op.Failed != nil || len(r.Workloads) == 0 {
		return w, nil
	}
	payload, err := h.rows.manifest(ctx, r.Lease, r.Op.Version)
	if errors.Is(err, provider.ErrNotFound) {
		err = fmt.Errorf("%w: %w", errUnusable, err)
	}
	if err != nil {
		return w, err
	}
	if w.stack, err = manifest.Parse(payload); err != nil {
		return w, fmt.Errorf("%w: number %d: %w", errUnusable, r.Op.Version, err)
	}
	if r.Op.Kind == opRestart || !step {
		return w, nil
	}
	return w, h.inspect(ctx, r, w)
}

// look asks for the status of one workload, after it had its chance to go on.
func (h *Hosting) look(ctx context.Context, w *world, instance id.ID, step bool) error {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timing.Call)
	defer cancel()
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
