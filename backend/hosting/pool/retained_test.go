package pool

import (
	"errors"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/sku"
)

// disks are a lease's instances that have a disk alone.
func disks(lease string, mb int64) []Instance { return instancesOf(lease, 1, sku.Size{DiskMB: mb}) }

// withRetained is a pool of 1000 MB of disk that keeps some of a lease "old" of "t".
func withRetained(t *testing.T, mb int64) *Pool {
	t.Helper()
	p := newPool(t, sku.Size{MilliCPU: 1000, MemoryMB: 1000, DiskMB: 1000}, sku.Size{})
	must(t, p.Reserve("old", "t", instancesOf("old", 1, sku.Size{MilliCPU: 1000, MemoryMB: 1000, DiskMB: mb})))
	must(t, p.Retain("old", "t", mb))
	return p
}

func TestRetainedDiskTakesRoomAndNothingElseDoes(t *testing.T) {
	p := withRetained(t, 600)
	if s := p.Stats(); s.Allocated.MilliCPU != 0 || s.Allocated.MemoryMB != 0 || s.ActiveContainers != 0 || s.Allocated.DiskMB != 600 || s.RetainedDiskMB != 600 {
		t.Fatalf("retained: %+v", s)
	}
	if err := p.Reserve("b", "t", disks("b", 401)); !errors.Is(err, backend.ErrInsufficientResources) {
		t.Errorf("a disk beyond what is left: %v", err)
	}
	must(t, p.Reserve("b", "t", disks("b", 400)))
	p.Forget("old")
	p.Forget("old")
	if s := p.Stats(); s.Allocated.DiskMB != 400 || s.RetainedDiskMB != 0 {
		t.Errorf("forgotten: %+v", s)
	}
}

func TestARestoreNeedsOnlyWhatIsMoreThanRetained(t *testing.T) {
	for name, c := range map[string]struct {
		other, disk          int64 // held by another lease, and asked for
		ok                   bool
		during, done, undone int64 // disk allocated, the other's aside
	}{
		"the same size in a full pool": {400, 600, true, 600, 600, 600},
		"smaller in a full pool":       {400, 100, true, 600, 100, 600},
		"no disk":                      {400, 0, true, 600, 0, 600},
		"larger, with room for it":     {300, 700, true, 700, 700, 600},
		"larger, without":              {300, 701, false, 600, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, end := range []string{"done", "undone"} {
				p := withRetained(t, 600)
				must(t, p.Reserve("other", "u", disks("other", c.other)))
				err := p.Adopt("new", "old", "t", disks("new", c.disk))
				if c.ok != (err == nil) || err != nil && !errors.Is(err, backend.ErrInsufficientResources) {
					t.Fatalf("adopt: %v", err)
				}
				if got := p.Stats().Allocated.DiskMB - c.other; got != c.during {
					t.Errorf("%d MB during the restore; want %d", got, c.during)
				}
				if !c.ok {
					continue
				}
				must(t, p.Adopt("new", "old", "t", disks("new", c.disk)))
				want := c.done
				if end == "done" {
					p.Forget("old")
					must(t, p.Adopt("new", "old", "t", disks("new", c.disk))) // repeated, late
				} else {
					want = c.undone
					p.Release("new")
				}
				if got := p.Stats().Allocated.DiskMB - c.other; got != want {
					t.Errorf("%d MB when %s; want %d", got, end, want)
				}
			}
		})
	}
}

func TestTheRoomOfWhatIsAdoptedIsNotGivenAway(t *testing.T) {
	p := withRetained(t, 600)
	must(t, p.Adopt("new", "old", "t", disks("new", 100)))
	if err := p.Reserve("greedy", "u", disks("greedy", 401)); !errors.Is(err, backend.ErrInsufficientResources) {
		t.Errorf("during a restore that may fail: %v", err)
	}
	must(t, p.Resize("new", disks("new", 600))) // within what is retained
	if got := p.Stats().Allocated.DiskMB; got != 600 {
		t.Errorf("%d MB allocated; want 600", got)
	}
}

func TestWhoMayNotAdopt(t *testing.T) {
	p := withRetained(t, 600)
	must(t, p.Retain("another", "t", 100))
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"another tenant": {p.Adopt("new", "old", "u", disks("new", 1)), backend.ErrNotRetained},
		"of nothing":     {p.Adopt("new", "never", "t", disks("new", 1)), backend.ErrNotRetained},
		"itself":         {p.Adopt("old", "old", "t", disks("old", 1)), backend.ErrValidation},
		"no lease":       {p.Adopt("new", "", "t", disks("new", 1)), backend.ErrValidation},
		"a retained one": {p.Adopt("another", "old", "t", disks("another", 1)), backend.ErrInvalidState},
		"anew":           {p.Reserve("old", "t", disks("old", 1)), backend.ErrInvalidState},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v; want %v", name, c.err, c.want)
		}
	}
	must(t, p.Adopt("new", "old", "t", disks("new", 1)))
	if err := p.Adopt("second", "old", "t", disks("second", 1)); !errors.Is(err, backend.ErrInvalidState) {
		t.Errorf("a second adopter: %v", err)
	}
	for name, err := range map[string]error{
		"the adopter": p.Retain("new", "t", 1), "the adopted": p.Retain("old", "t", 1),
	} {
		if !errors.Is(err, backend.ErrInvalidState) {
			t.Errorf("retaining %s during a restore: %v", name, err)
		}
	}
	p.Release("new")
	must(t, p.Adopt("second", "old", "t", disks("second", 1)))
}

func TestARetentionIsOfSomethingAndMayBeMeasuredAnew(t *testing.T) {
	p := withRetained(t, 600)
	must(t, p.Retain("old", "t", 200))
	must(t, p.Retain("found", "t", 5000)) // it is there, room or not
	if s := p.Stats(); s.RetainedDiskMB != 5200 || s.Available.DiskMB != 0 {
		t.Errorf("stats %+v", s)
	}
	for _, mb := range []int64{-1, backend.MaxQuantity*sku.MaxDiskMB + 1} {
		if err := p.Retain("x", "t", mb); !errors.Is(err, backend.ErrValidation) {
			t.Errorf("retain %d MB: %v", mb, err)
		}
	}
	if err := p.Retain("", "t", 1); !errors.Is(err, backend.ErrValidation) {
		t.Errorf("retain without a lease: %v", err)
	}
}

func TestAQuotaIsForLeasesAndNotForWhatTheyLeft(t *testing.T) {
	p := newPool(t, ten, sku.Size{DiskMB: 1000})
	must(t, p.Reserve("old", "t", disks("old", 1000)))
	must(t, p.Retain("old", "t", 1000))
	must(t, p.Reserve("next", "t", disks("next", 600)))
	if err := p.Adopt("new", "old", "t", disks("new", 401)); !errors.Is(err, backend.ErrInsufficientResources) {
		t.Errorf("a restore beyond the quota: %v", err)
	}
	must(t, p.Adopt("new", "old", "t", disks("new", 400)))
}
