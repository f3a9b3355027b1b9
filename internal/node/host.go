package node

import (
	"context"
	"errors"
)

// Host is one machine on which containers run. It is safe for concurrent use.
type Host interface {
	// Firewall makes the rules stand. What stands already is left alone, and what
	// differs is replaced at once: no packet passes between old rules and new ones.
	// Errors: ErrRules, ErrUnable.
	Firewall(ctx context.Context, r Rules) error
	// CheckFirewall changes nothing. It is an ErrDiffers that names the first thing
	// that is missing, strange or changed, unless the rules stand as they are asked for.
	CheckFirewall(ctx context.Context, r Rules) error
	// DropFirewall takes away the rules of that name; none there is fine.
	DropFirewall(ctx context.Context, name string) error
	// Standing lists the pools of all firewalls that stand, whoever set them up: those
	// of a pool that two share judge the leases of both.
	Standing(ctx context.Context) ([]Standing, error)
}

var (
	// ErrRules: what was asked for are no rules.
	ErrRules = errors.New("firewall rules are not valid")
	// ErrUnable: this process on this machine can have no firewall.
	ErrUnable = errors.New("no firewall can be set up here")
	// ErrDiffers: what stands is not what was asked for.
	ErrDiffers = errors.New("the firewall is not as it should be")
)
