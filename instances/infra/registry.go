package infra

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
)

// Options are what a provider is opened with.
type Options struct {
	// Owner is whose machines it makes; required.
	Owner Owner
	// Region and Zone are the provider's words for where.
	Region, Zone string
	// Settings are the provider's own, from the configuration; one that it does
	// not know is ErrInvalidRequest.
	Settings map[string]any
	// Logger is where it says what it does; nil is nowhere.
	Logger *slog.Logger
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// OpenFunc opens one kind of provider. ctx bounds the opening alone.
type OpenFunc func(ctx context.Context, o Options) (Provider, error)

// notBuilt are the kinds that people know, and that no driver is there for.
var notBuilt = []string{
	"alibaba", "aws", "azure", "digitalocean", "equinix", "gcp", "google", "hetzner", "ibm", "libvirt",
	"linode", "nutanix", "oci", "openstack", "ovh", "proxmox", "scaleway", "upcloud", "vsphere", "vultr",
}

// Registry opens providers by kind. It does not change once it is made.
type Registry struct{ kinds map[string]OpenFunc }

// NewRegistry makes a registry of these kinds. A name that is no identifier and
// a function that is nil are ErrInvalidRequest.
func NewRegistry(kinds map[string]OpenFunc) (*Registry, error) {
	for kind, open := range kinds {
		if err := checkIdentifier("kind", kind); err != nil {
			return nil, err
		}
		if open == nil {
			return nil, invalid("kind %q has no function to open it", kind)
		}
	}
	return &Registry{maps.Clone(kinds)}, nil
}

// Kinds are those that Open can open, in order.
func (r *Registry) Kinds() []string { return slices.Sorted(maps.Keys(r.kinds)) }

// Check is nil for a kind that Open can open, ErrNotBuilt for one that the field
// knows and Berth has no driver for, and else ErrUnknownKind with those there are.
func (r *Registry) Check(kind string) error {
	if _, ok := r.kinds[kind]; ok {
		return nil
	}
	have := strings.Join(r.Kinds(), ", ")
	if slices.Contains(notBuilt, strings.ToLower(kind)) {
		return fmt.Errorf("%w: %q; there are %s", ErrNotBuilt, kind, have)
	}
	return fmt.Errorf("%w: %q; there are %s", ErrUnknownKind, clip(kind), have)
}

// Open opens a provider of that kind for the owner in o.
func (r *Registry) Open(ctx context.Context, kind string, o Options) (Provider, error) {
	if err := r.Check(kind); err != nil {
		return nil, err
	}
	if err := o.Owner.Validate(); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p, err := r.kinds[kind](ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open provider %s: %w", kind, err)
	}
	return p, nil
}
