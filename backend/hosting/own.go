package hosting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/provider"
)

// keeper is who keeps the volumes; nil when the provider keeps none.
func (h *Hosting) keeper() provider.VolumeKeeper {
	keeper, can := h.cfg.Provider.(provider.VolumeKeeper)
	if !can || !provider.HasCapability(h.cfg.Provider, provider.CapKeptVolumes) {
		return nil
	}
	return keeper
}

// disks are the disks of one instance of each service, in MB. A service whose SKU is
// gone from the configuration has none.
func (h *Hosting) disks(items []backend.LeaseItem) map[string]int64 {
	out := map[string]int64{}
	if h.keeper() == nil {
		return out
	}
	for _, item := range items {
		if tier, err := h.cfg.SKUs.Resolve(item.SKU); err == nil && tier.Size.DiskMB > 0 {
			out[item.ServiceName] = tier.Size.DiskMB
		}
	}
	return out
}

// diskMB is what a lease has in all.
func (h *Hosting) diskMB(r *row) int64 {
	instances, err := pool.Instances(r.Lease, r.Items, h.cfg.SKUs)
	if err != nil {
		h.cfg.Logger.Error("the disk of a lease cannot be counted", "lease", r.Lease, "error", err)
	}
	var sum int64
	for _, one := range instances {
		sum += one.Size.DiskMB
	}
	return sum
}

// nameSet has a lease with a disk know under which name its volumes are recorded,
// before there are any.
func (h *Hosting) nameSet(r *row) {
	if r.Set == "" && len(h.disks(r.Items)) > 0 {
		r.Set = h.cfg.NewID()
	}
}

// errNotOwner is a set of volumes that is another lease's. It does not happen.
var errNotOwner = errors.New("its volumes are not its own")

// own records the volumes that a lease is to have, before the first container has one.
func (h *Hosting) own(ctx context.Context, r *row, w *world) error {
	_, err := h.changeSet(ctx, r.Set, func(s *set) (*set, error) {
		switch {
		case s == nil:
			s = &set{
				Format: setFormat, ID: r.Set, Tenant: r.Tenant, ProviderUUID: r.ProviderUUID, CreatedAt: w.now,
				State: setHeld, Owner: r.Lease, Generation: 1,
			}
		case !s.heldBy(r.Lease):
			return nil, errNotOwner
		}
		for _, name := range slices.Sorted(maps.Keys(r.Workloads)) {
			for _, path := range r.kept(w, name) {
				s.grow(name, path, r.item(name).Quantity, r.Op.ID, h.cfg.NewID)
			}
		}
		s.DiskMB = max(s.DiskMB, h.diskMB(r))
		return s, nil
	})
	return err
}

// grow has a directory have at least count volumes.
func (s *set) grow(service, path string, count int, op string, newID func() string) {
	at := s.slot(service, path)
	if at < 0 {
		s.Slots = append(s.Slots, slot{ID: "v-" + newID(), Service: service, Path: path, Count: count, Op: op})
		return
	}
	if one := &s.Slots[at]; one.Count < count {
		if one.Op != op {
			one.Op, one.Was = op, one.Count
		}
		one.Count = count
	}
}

// place is what the host adds to a service of a lease. Its volumes are those of the set
// that the lease owns now: whether it does is looked up here, before each call that
// mounts them.
func (h *Hosting) place(ctx context.Context, r *row, w *world, service string) (manifest.Place, error) {
	at, err := h.sized(r.item(service))
	if err != nil || r.Op == nil {
		return at, err
	}
	kept := r.kept(w, service)
	for _, path := range r.Op.Paths[service] {
		if !slices.Contains(kept, path) {
			at.Tmpfs = append(at.Tmpfs, path) // no volume that nobody owns
		}
	}
	if len(kept) == 0 {
		return at, nil
	}
	s, err := h.freshSet(ctx, r.Set)
	if err != nil {
		return at, err
	}
	if !s.heldBy(r.Lease) {
		return at, fmt.Errorf("service %s: %w", service, errNotOwner)
	}
	for _, path := range kept {
		i := s.slot(service, path)
		if i < 0 {
			return at, fmt.Errorf("service %s: %w", service, errNotOwner)
		}
		at.Volumes = append(at.Volumes, provider.VolumeSpec{Name: s.Slots[i].ID, MountPath: path, IDs: s.Slots[i].ids(0)})
	}
	return at, nil
}

// sized is the place of one item, as far as its tier says.
func (h *Hosting) sized(item backend.LeaseItem) (manifest.Place, error) {
	tier, err := h.cfg.SKUs.Resolve(item.SKU)
	if err != nil {
		return manifest.Place{}, err
	}
	return manifest.Place{
		Size:        manifest.Size{CPUCores: float64(tier.Size.MilliCPU) / 1000, MemoryMB: int(tier.Size.MemoryMB)},
		BindAddress: h.cfg.BindAddress,
		Keeps:       tier.Size.DiskMB > 0 && h.keeper() != nil,
	}, nil
}

// changeSet is sets.change, after which the pool counts what the set says.
func (h *Hosting) changeSet(ctx context.Context, id string, edit func(*set) (*set, error)) (*set, error) {
	before := h.sets.get(id)
	s, err := h.sets.change(ctx, id, edit)
	if h.sets.inDoubt(id) {
		h.hub.Tell(Reaper)
		return s, err
	}
	h.countSet(ctx, before, h.sets.get(id))
	return s, err
}

// freshSet is a set as the store has it.
func (h *Hosting) freshSet(ctx context.Context, id string) (*set, error) {
	return h.changeSet(ctx, id, func(*set) (*set, error) { return nil, nil })
}
