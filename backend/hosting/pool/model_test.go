package pool

import (
	"flag"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/backend/hosting/sku"
)

var (
	leaseNames  = []string{"l0", "l1", "l2", "l3", "l4", "l5"}
	tenantNames = []string{"t0", "t1"}
)

// machine is a pool beside the model of it.
type machine struct {
	pool  *Pool
	model naive
	// grown says that what was found once was more than there is.
	grown bool
	seen  map[string]int
}

func newMachine(t *rapid.T, seen map[string]int) *machine {
	cfg := Config{Total: sku.Size{MilliCPU: 4000, MemoryMB: 4000, DiskMB: 4000}}
	if rapid.Bool().Draw(t, "quota") {
		cfg.TenantQuota = sku.Size{MilliCPU: 2500, DiskMB: 2500}
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &machine{pool: p, model: naive{cfg, map[string]Holding{}, map[string]Retained{}}, seen: seen}
}

func drawOp(t *rapid.T, kind string) op {
	o := op{kind: kind, lease: rapid.SampledFrom(leaseNames).Draw(t, "lease"), tenant: rapid.SampledFrom(tenantNames).Draw(t, "tenant")}
	part := rapid.Int64Range(0, 1200)
	if kind == "adopt" {
		o.from = rapid.SampledFrom(leaseNames).Draw(t, "from")
	}
	if kind == "reserve" || kind == "adopt" || kind == "resize" {
		size := sku.Size{MilliCPU: part.Draw(t, "cpu"), MemoryMB: part.Draw(t, "memory"), DiskMB: part.Draw(t, "disk")}
		o.instances = instancesOf(o.lease, rapid.IntRange(0, 3).Draw(t, "instances"), size)
	}
	return o
}

func (m *machine) step(kind string) func(*rapid.T) {
	return func(t *rapid.T) {
		o := drawOp(t, kind)
		if kind == "retain" { // what a lease may leave is no more than it holds
			o.disk = rapid.Int64Range(-1, max(0, sizeOf(m.model.live[o.lease].Instances).DiskMB)).Draw(t, "left")
		}
		next, want := m.model.do(o)
		if got := m.pool.do(o); got != want {
			t.Fatalf("%+v: got %v; want %v", o, got, want)
		}
		m.model = next
		m.seen[fmt.Sprint(kind, " ", want.err)]++
	}
}

func (f Facts) size() int { return len(f.Holdings) + len(f.Retained) }

// repeat asks again for what is held already.
func (m *machine) repeat(t *rapid.T) {
	for _, h := range m.model.live {
		o := op{kind: "reserve", lease: h.Lease, tenant: h.Tenant, instances: h.Instances, from: h.From}
		if h.From != "" {
			o.kind = "adopt"
		}
		if got := m.pool.do(o); got.err != nil {
			t.Fatalf("repeated %+v: %v", o, got.err)
		}
	}
}

// restart rebuilds a new pool from the facts of the old one, and goes on with it.
func (m *machine) restart(t *rapid.T) {
	p, err := New(m.model.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Rebuild(m.pool.Facts(), nil); err != nil {
		t.Fatal(err)
	}
	m.pool = p
}

// refresh rebuilds from a list that lacks some leases, and has others that grew;
// tracked ones must not notice.
func (m *machine) refresh(t *rapid.T) {
	var tracked []string
	isTracked := map[string]bool{}
	for _, lease := range leaseNames {
		if rapid.Bool().Draw(t, "tracked "+lease) {
			tracked, isTracked[lease] = append(tracked, lease), true
		}
	}
	found := m.model.facts()
	next := naive{m.model.cfg, maps.Clone(m.model.live), maps.Clone(m.model.retained)}
	var kept []Holding
	for _, h := range found.Holdings {
		switch rapid.SampledFrom([]string{"as it is", "missing", "grown"}).Draw(t, h.Lease) {
		case "missing":
			if !isTracked[h.Lease] {
				delete(next.live, h.Lease)
			}
			continue
		case "grown":
			h.Instances = instancesOf(h.Lease, 4, sku.Size{MilliCPU: 1500, MemoryMB: 1, DiskMB: 1500})
			if !isTracked[h.Lease] {
				next.live[h.Lease] = h
				m.grown = true
			}
		}
		kept = append(kept, h)
	}
	found.Holdings = kept
	if err := m.pool.Rebuild(found, tracked); err != nil {
		t.Fatal(err)
	}
	m.model = next
}

func (m *machine) check(t *rapid.T) {
	if d := same(m.pool.Stats(), m.model.stats()); d != "" {
		t.Fatal("stats:\n", d)
	}
	if d := same(m.pool.Facts(), m.model.facts()); d != "" {
		t.Fatal("facts:\n", d)
	}
	if m.grown {
		return
	}
	if used, total := m.model.used(), m.model.cfg.Total; used.MilliCPU > total.MilliCPU || used.MemoryMB > total.MemoryMB || used.DiskMB > total.DiskMB {
		t.Fatalf("%+v of %+v is allocated", used, total)
	}
	quota := m.model.cfg.TenantQuota
	for _, tenant := range tenantNames {
		if used := m.model.usedBy(tenant); quota.MilliCPU > 0 && (used.MilliCPU > quota.MilliCPU || used.DiskMB > quota.DiskMB) {
			t.Fatalf("%s holds %+v of %+v", tenant, used, quota)
		}
	}
}

// empty gives everything back.
func (m *machine) empty(t *rapid.T) {
	for _, lease := range leaseNames {
		m.pool.Release(lease)
		m.pool.Forget(lease)
	}
	want := naive{cfg: m.model.cfg}.stats()
	if d := same(m.pool.Stats(), want); d != "" {
		t.Fatal("when all is given back:\n", d)
	}
	if b := m.pool.books; len(b.live)+len(b.retained)+len(b.tenants) != 0 {
		t.Fatalf("when all is given back there is left: %+v", b)
	}
}

func TestThePoolKeepsToTheModel(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, seen)
		actions := map[string]func(*rapid.T){"": m.check, "repeat": m.repeat, "restart": m.restart, "refresh": m.refresh}
		for _, kind := range []string{"reserve", "adopt", "resize", "release", "retain", "forget"} {
			actions[kind] = m.step(kind)
		}
		actions["reserve another"] = actions["reserve"]
		actions["retain another"] = actions["retain"]
		actions["adopt another"] = actions["adopt"]
		t.Repeat(actions)
		m.empty(t)
	})
	if checks := flag.Lookup("rapid.checks").Value.String(); len(checks) < 3 {
		return // too few to come to all
	}
	// A model that never came to a case says nothing of it.
	for _, o := range []string{
		"reserve <nil>", "reserve insufficient resources", "reserve lease already provisioned", "reserve invalid state for operation",
		"adopt <nil>", "adopt insufficient resources", "adopt no retained data for lease", "adopt invalid state for operation", "adopt validation error",
		"resize <nil>", "resize insufficient resources", "resize lease not provisioned", "release <nil>",
		"retain <nil>", "retain invalid state for operation", "retain validation error", "forget <nil>",
	} {
		if seen[o] == 0 {
			t.Errorf("the model never saw: %s", o)
		}
	}
}
