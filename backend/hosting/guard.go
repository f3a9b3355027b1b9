package hosting

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/backend"
)

// Guard keeps leases apart from each other and from their host; a firewall is one.
type Guard interface {
	// Ensure makes the guard stand. It is called in every Step of a lease that is not
	// given up, and has to cost next to nothing when it stands already.
	Ensure(ctx context.Context) error
}

var errUnguarded = errors.New("nothing is started, because leases cannot be kept apart")

// guarded is nil when what a lease runs may start. Of one that is given up nothing does,
// so that it does not wait for a guard that does not answer.
func (h *Hosting) guarded(ctx context.Context, r *row) error {
	if h.cfg.Guard == nil || r.Status == backend.ProvisionStatusDeprovisioning {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timing.Call)
	defer cancel()
	if err := h.cfg.Guard.Ensure(ctx); err != nil {
		return fmt.Errorf("%w: %w", errUnguarded, err)
	}
	return nil
}

// unguarded leaves of a plan what starts nothing: what is given up goes, its volumes
// too.
func (p plan) unguarded() plan {
	p.effects = slices.DeleteFunc(slices.Clone(p.effects), func(e effect) bool { return e.verb.changesWorkload() })
	return p
}
