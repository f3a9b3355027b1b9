package hosting

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Guard keeps leases apart from each other and from their host; a firewall is one.
type Guard interface {
	// Ensure makes the guard stand. It is called in every Step that looks at what
	// runs, and has to cost next to nothing when it stands already.
	Ensure(ctx context.Context) error
}

var errUnguarded = errors.New("nothing is started, because leases cannot be kept apart")

// guarded is nil when what a lease runs may start.
func (h *Hosting) guarded(ctx context.Context) error {
	if h.cfg.Guard == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timing.Call)
	defer cancel()
	if err := h.cfg.Guard.Ensure(ctx); err != nil {
		return fmt.Errorf("%w: %w", errUnguarded, err)
	}
	return nil
}

// unguarded leaves of a plan what starts nothing.
func (p plan) unguarded() plan {
	p.effects = slices.DeleteFunc(slices.Clone(p.effects), func(e effect) bool { return e.verb != doDeprovision })
	return p
}
