package pool

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/sku"
)

// naive is the pool as one would write it down: two lists, from which every figure is
// added up anew, and a change that is made first and judged by what it came to.
type naive struct {
	cfg      Config
	live     map[string]Holding
	retained map[string]Retained
}

// op is a call of a pool.
type op struct {
	kind                string // reserve adopt resize release retain forget stats
	lease, from, tenant string
	instances           []Instance
	disk                int64
}

// result is what a call answered: the kind of its error, and figures for stats.
type result struct {
	err   error
	stats Stats
}

var kinds = []error{
	backend.ErrInsufficientResources, backend.ErrAlreadyProvisioned, backend.ErrNotProvisioned, backend.ErrNotRetained, backend.ErrInvalidState, backend.ErrValidation,
}

// kind is which of the sentinels an error is.
func kind(err error) error {
	for _, k := range kinds {
		if errors.Is(err, k) {
			return k
		}
	}
	return err
}

// do calls the pool.
func (p *Pool) do(o op) (r result) {
	switch o.kind {
	case "reserve":
		r.err = kind(p.Reserve(o.lease, o.tenant, o.instances))
	case "adopt":
		r.err = kind(p.Adopt(o.lease, o.from, o.tenant, o.instances))
	case "resize":
		r.err = kind(p.Resize(o.lease, o.instances))
	case "release":
		p.Release(o.lease)
	case "retain":
		r.err = kind(p.Retain(o.lease, o.tenant, o.disk))
	case "forget":
		p.Forget(o.lease)
	case "stats":
		r.stats = p.Stats()
	}
	return r
}

// do is what is right.
func (n naive) do(o op) (naive, result) {
	next := naive{n.cfg, maps.Clone(n.live), maps.Clone(n.retained)}
	held, isLive := n.live[o.lease]
	kept, isRetained := n.retained[o.lease]
	switch o.kind {
	case "reserve", "adopt":
		want := Holding{o.lease, o.tenant, o.instances, o.from}
		_, open := n.retained[o.from]
		if isLive && held.From == "" && !open {
			held.From = o.from // completed, or never one
		}
		switch from, there := n.retained[o.from]; {
		case o.kind == "adopt" && o.from == o.lease:
			return n, result{err: backend.ErrValidation}
		case isLive && reflect.DeepEqual(held, want):
			return n, result{}
		case isLive:
			return n, result{err: backend.ErrAlreadyProvisioned}
		case isRetained:
			return n, result{err: backend.ErrInvalidState}
		case o.kind == "adopt" && (!there || from.Tenant != o.tenant):
			return n, result{err: backend.ErrNotRetained}
		case o.kind == "adopt" && n.adopter(o.from) != "":
			return n, result{err: backend.ErrInvalidState}
		}
		next.live[o.lease] = want
		return n.judge(next, o.tenant)
	case "resize":
		if !isLive {
			return n, result{err: backend.ErrNotProvisioned}
		}
		held.Instances = o.instances
		next.live[o.lease] = held
		return n.judge(next, held.Tenant)
	case "release":
		delete(next.live, o.lease)
	case "retain":
		if o.disk < 0 {
			return n, result{err: backend.ErrValidation}
		}
		if isLive && held.From != "" || isRetained && n.adopter(kept.Lease) != "" {
			return n, result{err: backend.ErrInvalidState}
		}
		delete(next.live, o.lease)
		next.retained[o.lease] = Retained{o.lease, o.tenant, o.disk}
	case "forget":
		if by := n.adopter(o.lease); by != "" {
			adopter := n.live[by]
			adopter.From = ""
			next.live[by] = adopter
		}
		delete(next.retained, o.lease)
	case "stats":
		return n, result{stats: n.stats()}
	}
	return next, result{}
}

// judge takes what came of a change, unless there is more of something than before
// and more than there may be.
func (n naive) judge(next naive, tenant string) (naive, result) {
	beyond := func(before, after, most int64) bool { return after > before && after > most }
	worse := func(before, after, most sku.Size) bool {
		return beyond(before.MilliCPU, after.MilliCPU, most.MilliCPU) || beyond(before.MemoryMB, after.MemoryMB, most.MemoryMB) || beyond(before.DiskMB, after.DiskMB, most.DiskMB)
	}
	unlimited := func(n int64) int64 { return cmp.Or(n, 1<<62) }
	quota := sku.Size{MilliCPU: unlimited(n.cfg.TenantQuota.MilliCPU), MemoryMB: unlimited(n.cfg.TenantQuota.MemoryMB), DiskMB: unlimited(n.cfg.TenantQuota.DiskMB)}
	if worse(n.used(), next.used(), n.cfg.Total) || worse(n.usedBy(tenant), next.usedBy(tenant), quota) {
		return n, result{err: backend.ErrInsufficientResources}
	}
	return next, result{}
}

func (n naive) adopter(retained string) string {
	for lease, h := range n.live {
		if h.From == retained {
			return lease
		}
	}
	return ""
}

func sizeOf(instances []Instance) (s sku.Size) {
	for _, i := range instances {
		s.MilliCPU, s.MemoryMB, s.DiskMB = s.MilliCPU+i.Size.MilliCPU, s.MemoryMB+i.Size.MemoryMB, s.DiskMB+i.Size.DiskMB
	}
	return s
}

// used counts a disk that is adopted, and the one that adopts it, as the larger.
func (n naive) used() (s sku.Size) {
	for _, h := range n.live {
		size := sizeOf(h.Instances)
		s.MilliCPU, s.MemoryMB = s.MilliCPU+size.MilliCPU, s.MemoryMB+size.MemoryMB
		if h.From == "" {
			s.DiskMB += size.DiskMB
		}
	}
	for lease, r := range n.retained {
		disk := r.DiskMB
		if by := n.adopter(lease); by != "" {
			disk = max(disk, sizeOf(n.live[by].Instances).DiskMB)
		}
		s.DiskMB += disk
	}
	return s
}

func (n naive) usedBy(tenant string) (s sku.Size) {
	for _, h := range n.live {
		if h.Tenant == tenant {
			s, _ = s.Add(sizeOf(h.Instances))
		}
	}
	return s
}

func (n naive) stats() Stats {
	used, total := n.used(), n.cfg.Total
	s := Stats{Total: total, Allocated: used, Available: sku.Size{
		MilliCPU: max(0, total.MilliCPU-used.MilliCPU), MemoryMB: max(0, total.MemoryMB-used.MemoryMB), DiskMB: max(0, total.DiskMB-used.DiskMB),
	}}
	for _, h := range n.live {
		s.ActiveContainers += len(h.Instances)
	}
	for _, r := range n.retained {
		s.RetainedDiskMB += r.DiskMB
	}
	return s
}

func (n naive) facts() (f Facts) {
	for _, lease := range slices.Sorted(maps.Keys(n.live)) {
		f.Holdings = append(f.Holdings, n.live[lease])
	}
	for _, lease := range slices.Sorted(maps.Keys(n.retained)) {
		f.Retained = append(f.Retained, n.retained[lease])
	}
	return f
}

// instancesOf are so many of one size.
func instancesOf(lease string, count int, size sku.Size) []Instance {
	out := make([]Instance, count)
	for i := range out {
		out[i] = Instance{ID: InstanceID(lease, "app", i), Size: size}
	}
	return out
}

// same says how two differ; "" when they do not.
func same[T any](got, want T) string {
	if fmt.Sprintf("%+v", got) == fmt.Sprintf("%+v", want) {
		return ""
	}
	return fmt.Sprintf("got  %+v\nwant %+v", got, want)
}
