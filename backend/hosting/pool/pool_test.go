package pool

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/sku"
)

func newPool(t testing.TB, total, quota sku.Size) *Pool {
	t.Helper()
	p, err := New(Config{Total: total, TenantQuota: quota})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func size(milliCPU, memoryMB, diskMB int64) sku.Size {
	return sku.Size{MilliCPU: milliCPU, MemoryMB: memoryMB, DiskMB: diskMB}
}

// must fails the test for an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var (
	ten = sku.Size{MilliCPU: 10_000, MemoryMB: 10_000, DiskMB: 10_000}
	one = sku.Size{MilliCPU: 1000, MemoryMB: 1000, DiskMB: 1000}
)

func TestARefusalSaysWhatLacksAndHowMuchIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		quota, need sku.Size
		count       int
		says        []string
		not         string
	}{
		"CPU":        {need: sku.Size{MilliCPU: 2500}, count: 4, says: []string{"CPU: 10 cores needed, 9 cores of 10 cores free"}, not: "memory"},
		"memory":     {need: sku.Size{MemoryMB: 4501}, count: 2, says: []string{"memory: 9002 MB needed, 9000 MB of 10000 MB free"}, not: "CPU"},
		"disk":       {need: sku.Size{DiskMB: 9001}, count: 1, says: []string{"disk: 9001 MB needed, 9000 MB of 10000 MB free"}, not: "CPU"},
		"everything": {need: size(9001, 9001, 9001), count: 1, says: []string{"CPU: 9.001 cores needed", "memory: ", "disk: "}, not: "quota"},
		"quota": {
			quota: sku.Size{MilliCPU: 2000}, need: size(1250, 5000, 5000), count: 1,
			says: []string{"CPU of the tenant's quota: 1.25 cores needed, 1 core of 2 cores left"}, not: "memory",
		},
		"both": {quota: sku.Size{DiskMB: 1500}, need: sku.Size{DiskMB: 9500}, count: 1, says: []string{"disk: ", "disk of the tenant's quota: 9500 MB needed, 500 MB of 1500 MB left"}, not: "CPU"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, ten, c.quota)
			must(t, p.Reserve("a", "secret-tenant", instancesOf("a", 1, one)))
			before := p.Stats()
			err := p.Reserve("b", "secret-tenant", instancesOf("b", c.count, c.need))
			if !errors.Is(err, backend.ErrInsufficientResources) {
				t.Fatalf("error %v", err)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %q; want %q in it", err, s)
				}
			}
			if strings.Contains(err.Error(), c.not) || strings.Contains(err.Error(), "secret-tenant") {
				t.Errorf("error %q says too much", err)
			}
			if p.Stats() != before {
				t.Errorf("a refusal left %+v; before %+v", p.Stats(), before)
			}
		})
	}
}

func TestTheLastOfEverythingCanBeReserved(t *testing.T) {
	p := newPool(t, ten, ten)
	must(t, p.Reserve("a", "t", instancesOf("a", 10, one)))
	if s := p.Stats(); s.Available != (sku.Size{}) || s.ActiveContainers != 10 {
		t.Errorf("stats %+v", s)
	}
	must(t, p.Reserve("nothing", "t", nil)) // what needs nothing has room
	if err := p.Reserve("b", "u", instancesOf("b", 1, sku.Size{MilliCPU: 1})); !errors.Is(err, backend.ErrInsufficientResources) {
		t.Errorf("a thousandth more: %v", err)
	}
}

func TestALeaseIsReservedOnce(t *testing.T) {
	p := newPool(t, ten, sku.Size{})
	all := instancesOf("a", 3, one)
	all[1].Size.DiskMB = 5
	must(t, p.Reserve("a", "t", all))
	once := p.Stats()
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	must(t, p.Reserve("a", "t", backwards))
	for name, err := range map[string]error{
		"fewer":          p.Reserve("a", "t", all[:2]),
		"other sizes":    p.Reserve("a", "t", instancesOf("a", 3, one)),
		"another tenant": p.Reserve("a", "u", all),
	} {
		if !errors.Is(err, backend.ErrAlreadyProvisioned) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p.Stats() != once {
		t.Errorf("stats %+v; after the first call %+v", p.Stats(), once)
	}
	p.Release("a")
	p.Release("a")
	if s := p.Stats(); s.Allocated.MilliCPU != 0 || s.ActiveContainers != 0 {
		t.Errorf("released twice: %+v", s)
	}
}

func TestWhatIsHandedOverMayBeChangedAfterwards(t *testing.T) {
	p := newPool(t, ten, sku.Size{})
	mine := instancesOf("a", 1, one)
	must(t, p.Reserve("a", "t", mine))
	mine[0].Size.MilliCPU = 9000
	p.Facts().Holdings[0].Instances[0].Size.MilliCPU = 8000
	must(t, p.Reserve("a", "t", instancesOf("a", 1, one)))
}

func TestWhatCannotBeASizeIsRefusedBeforeItIsCounted(t *testing.T) {
	p := newPool(t, size(math.MaxInt64/2, math.MaxInt64/2, math.MaxInt64/2), sku.Size{})
	instance := func(s sku.Size) []Instance { return instancesOf("a", 1, s) }
	for name, instances := range map[string][]Instance{
		"negative CPU":    instance(sku.Size{MilliCPU: -1}),
		"negative memory": instance(sku.Size{MemoryMB: -1}),
		"negative disk":   instance(sku.Size{DiskMB: math.MinInt64}),
		"too much CPU":    instance(sku.Size{MilliCPU: sku.MaxMilliCPU + 1}),
		"too much memory": instance(sku.Size{MemoryMB: math.MaxInt64}),
		"too much disk":   instance(sku.Size{DiskMB: sku.MaxDiskMB + 1}),
		"too many":        instancesOf("a", backend.MaxQuantity+1, one),
		"one name twice":  append(instance(one), instance(one)...),
		"no name":         {{Size: one}},
	} {
		if err := p.Reserve("a", "t", instances); !errors.Is(err, backend.ErrValidation) {
			t.Errorf("reserve %s: %v", name, err)
		}
		if err := p.Rebuild(Facts{Holdings: []Holding{{Lease: "b", Instances: nil}, {Lease: "a", Instances: instances}}}, nil); !errors.Is(err, backend.ErrValidation) {
			t.Errorf("rebuild %s: %v", name, err)
		}
	}
	if err := p.Reserve("", "t", instance(one)); !errors.Is(err, backend.ErrValidation) {
		t.Errorf("reserve without a lease: %v", err)
	}
	if f := p.Facts(); f.size() != 0 {
		t.Errorf("the pool has %+v", f)
	}
}

func TestSumsBeyondWhatCanBeCountedAreRefused(t *testing.T) {
	p := newPool(t, ten, sku.Size{})
	// As many of the largest as fit in 63 bits, and one more.
	books := p.books
	books.used.DiskMB = math.MaxInt64 - 5
	if err := p.Retain("a", "t", 6); !errors.Is(err, backend.ErrValidation) {
		t.Errorf("retain: %v", err)
	}
	if len(books.retained) != 0 || books.used.DiskMB != math.MaxInt64-5 {
		t.Errorf("a refusal left %+v", books)
	}
	if books.add("a", &holding{size: sku.Size{DiskMB: 6}}) || len(books.live)+len(books.tenants) != 0 {
		t.Errorf("the books took %+v", books)
	}
}

func TestALeaseGrowsAndShrinksWhole(t *testing.T) {
	p := newPool(t, ten, sku.Size{MemoryMB: 8000})
	must(t, p.Reserve("a", "t", instancesOf("a", 4, one)))
	must(t, p.Resize("a", instancesOf("a", 8, one)))
	for name, instances := range map[string][]Instance{
		"beyond the total": instancesOf("a", 11, sku.Size{MilliCPU: 1000}), "beyond the quota": instancesOf("a", 9, sku.Size{MemoryMB: 1000}),
	} {
		if err := p.Resize("a", instances); !errors.Is(err, backend.ErrInsufficientResources) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := p.Stats(); s.Allocated.MilliCPU != 8000 || s.ActiveContainers != 8 {
		t.Errorf("after refusals it holds %+v", s)
	}
	must(t, p.Resize("a", instancesOf("a", 1, one)))
	if s := p.Stats(); s.Allocated.MilliCPU != 1000 || s.Allocated.MemoryMB != 1000 || s.ActiveContainers != 1 {
		t.Errorf("it shrank to %+v", s)
	}
	if err := p.Resize("b", nil); !errors.Is(err, backend.ErrNotProvisioned) {
		t.Errorf("unknown lease: %v", err)
	}
}

func TestQuantitiesAreBoundedBeforeAnythingIsMadeOfThem(t *testing.T) {
	catalog, err := sku.New(sku.Config{
		Profiles: []sku.Profile{{Name: "small", CPUCores: 1, MemoryMB: 64}}, Mapping: []sku.Mapping{{SKU: "a1b2c3d4-e5f6-7890-abcd-1234567890ab", Profile: "small"}},
	})
	must(t, err)
	got, err := Instances("l", []backend.LeaseItem{
		{SKU: "small", Quantity: 2, ServiceName: "web"}, {SKU: "small", ServiceName: "none"}, {SKU: "small", Quantity: 1, ServiceName: "db"}, {SKU: "small", Quantity: 1, ServiceName: "web"},
	}, catalog)
	must(t, err)
	var ids []string
	for _, i := range got {
		ids = append(ids, i.ID)
		if i.Size != (sku.Size{MilliCPU: 1000, MemoryMB: 64}) {
			t.Errorf("%s has the size %+v", i.ID, i.Size)
		}
	}
	if want := "[l-web-0 l-web-1 l-db-0 l-web-2]"; fmt.Sprint(ids) != want {
		t.Errorf("instances %v; want %s", ids, want)
	}
	for name, quantities := range map[string][]int{
		"negative": {-1}, "too many": {1025}, "too many in sum": {1024, 1}, "negative beside others": {5, -1}, "what would wrap": {1, math.MaxInt}, "the least": {math.MinInt},
	} {
		var items []backend.LeaseItem
		for i, q := range quantities {
			items = append(items, backend.LeaseItem{SKU: "small", Quantity: q, ServiceName: fmt.Sprint("s", i)})
		}
		if _, err := Instances("l", items, catalog); !errors.Is(err, backend.ErrValidation) || errors.Is(err, backend.ErrUnknownSKU) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Instances("l", []backend.LeaseItem{{SKU: "huge"}}, catalog); !errors.Is(err, backend.ErrUnknownSKU) {
		t.Errorf("unknown SKU: %v", err)
	}
	if all, err := Instances("l", []backend.LeaseItem{{SKU: "small", Quantity: 1024, ServiceName: "s"}}, catalog); err != nil || len(all) != 1024 {
		t.Errorf("the most: %d, %v", len(all), err)
	}
}

func TestAPoolThatCannotBeIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		cfg    Config
		faults int
	}{
		"nothing":        {Config{}, 2},
		"negative":       {Config{Total: size(-1, -1, -1), TenantQuota: size(-1, -1, -1)}, 6},
		"no disk":        {Config{Total: size(1, 1, 0)}, 0},
		"beyond numbers": {Config{Total: size(math.MaxInt64, 1, 1), TenantQuota: sku.Size{DiskMB: math.MaxInt64}}, 2},
	} {
		_, err := New(c.cfg)
		faults := 0
		if err != nil {
			faults = strings.Count(err.Error(), "\n") + 1
		}
		if faults != c.faults || err != nil && !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %d faults; want %d: %v", name, faults, c.faults, err)
		}
	}
}

func TestStatsAreTheAnswerOnTheWire(t *testing.T) {
	p := newPool(t, size(8000, 16384, 102400), sku.Size{})
	must(t, p.Reserve("a", "t", instancesOf("a", 3, sku.Size{MilliCPU: 100, MemoryMB: 512, DiskMB: 1024})))
	must(t, p.Retain("b", "t", 100))
	text, err := json.Marshal(p.Stats().Wire())
	must(t, err)
	const want = `{"total_cpu_cores":8,"allocated_cpu_cores":0.3,"active_containers":3,"available_cpu_cores":7.7,` +
		`"total_memory_mb":16384,"allocated_memory_mb":1536,"available_memory_mb":14848,` +
		`"total_disk_mb":102400,"allocated_disk_mb":3172,"available_disk_mb":99228}`
	if string(text) != want {
		t.Errorf("stats\n%s\nwant\n%s", text, want)
	}
	if got, want := *p.Stats().Load(), (backend.LoadStats{TotalCPUCores: 8, AllocatedCPUCores: 0.3, ActiveContainers: 3}); got != want {
		t.Errorf("load %+v; want %+v", got, want)
	}
}
