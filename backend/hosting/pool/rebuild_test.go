package pool

import (
	"errors"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/sku"
)

func TestAListThatIsOlderDoesNotDropWhatIsTracked(t *testing.T) {
	p := newPool(t, ten, sku.Size{})
	must(t, p.Reserve("ran", "t", instancesOf("ran", 2, one)))
	found := p.Facts()
	// While the list is read, one lease is reserved, one grows, one is adopted.
	must(t, p.Reserve("fresh", "t", instancesOf("fresh", 1, one)))
	must(t, p.Resize("ran", instancesOf("ran", 3, one)))
	must(t, p.Retain("old", "t", 500))
	must(t, p.Adopt("new", "old", "t", disks("new", 500)))
	want, stats := p.Facts(), p.Stats()
	must(t, p.Rebuild(found, []string{"new", "fresh", "ran", "ran", "never"}))
	if d := same(p.Facts(), want); d != "" {
		t.Error(d)
	}
	if d := same(p.Stats(), stats); d != "" {
		t.Error(d)
	}
	must(t, p.Rebuild(found, []string{"fresh"}))
	if f := p.Facts(); len(f.Holdings) != 2 || f.Holdings[0].Lease != "fresh" || len(f.Holdings[1].Instances) != 2 || len(f.Retained) != 0 {
		t.Errorf("what is neither found nor tracked is still there: %+v", f)
	}
}

func TestARebuildIsAllOfAListOrNothing(t *testing.T) {
	good := Holding{Lease: "a", Tenant: "t", Instances: instancesOf("a", 1, one)}
	for name, found := range map[string]Facts{
		"a lease twice":               {Holdings: []Holding{good, good}},
		"a retained lease twice":      {Holdings: []Holding{good}, Retained: []Retained{{"b", "t", 1}, {"b", "t", 1}}},
		"a negative disk":             {Holdings: []Holding{good}, Retained: []Retained{{"b", "t", -1}}},
		"a lease without a name":      {Holdings: []Holding{good, {}}},
		"a retention without a name":  {Holdings: []Holding{good}, Retained: []Retained{{}}},
		"sizes out of bounds":         {Holdings: []Holding{good, {Lease: "b", Instances: disks("b", -1)}}},
		"a tracked lease, ill-formed": {Holdings: []Holding{good, {Lease: "kept", Instances: disks("kept", -1)}}},
	} {
		p := newPool(t, ten, sku.Size{})
		must(t, p.Reserve("kept", "t", instancesOf("kept", 1, one)))
		before := p.Facts()
		if err := p.Rebuild(found, []string{"kept"}); !errors.Is(err, backend.ErrValidation) {
			t.Errorf("%s: %v", name, err)
		}
		if d := same(p.Facts(), before); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

func TestWhatIsFoundIsCountedThoughThereIsNoRoomForIt(t *testing.T) {
	p := newPool(t, sku.Size{MilliCPU: 1500, MemoryMB: 1500, DiskMB: 1500}, one)
	must(t, p.Rebuild(Facts{
		Holdings: []Holding{{Lease: "a", Tenant: "t", Instances: instancesOf("a", 3, one)}}, Retained: []Retained{{"b", "t", 100}},
	}, nil))
	if s := p.Stats(); s.Allocated.MilliCPU != 3000 || s.Available.MilliCPU != 0 || s.Allocated.DiskMB != 3100 || s.Available.DiskMB != 0 {
		t.Errorf("stats %+v", s)
	}
	if err := p.Reserve("c", "u", instancesOf("c", 1, sku.Size{MilliCPU: 1})); !errors.Is(err, backend.ErrInsufficientResources) {
		t.Errorf("one more: %v", err)
	}
	must(t, p.Resize("a", instancesOf("a", 2, one))) // less, and still too much
	must(t, p.Reserve("free", "u", nil))
}

func TestAnAdoptionThatWasFoundStandsOnlyOnWhatIsRetained(t *testing.T) {
	adopts := func(lease, from string) Holding { return Holding{lease, "t", disks(lease, 100), from} }
	for name, c := range map[string]struct {
		found Facts
		disk  int64
		froms int
	}{
		"retained":           {Facts{[]Holding{adopts("n", "o")}, []Retained{{"o", "t", 300}}}, 300, 1},
		"gone":               {Facts{[]Holding{adopts("n", "o")}, nil}, 100, 0},
		"another tenant's":   {Facts{[]Holding{adopts("n", "o")}, []Retained{{"o", "u", 300}}}, 400, 0},
		"adopted by another": {Facts{[]Holding{adopts("m", "o"), adopts("n", "o")}, []Retained{{"o", "t", 300}}}, 400, 1},
		"its own":            {Facts{[]Holding{adopts("n", "n")}, []Retained{{"n", "t", 300}}}, 400, 0},
	} {
		p := newPool(t, ten, sku.Size{})
		must(t, p.Rebuild(c.found, nil))
		froms := 0
		for _, h := range p.Facts().Holdings {
			if h.From != "" {
				froms++
			}
		}
		if got := p.Stats().Allocated.DiskMB; got != c.disk || froms != c.froms {
			t.Errorf("%s: %d MB and %d adoptions; want %d and %d", name, got, froms, c.disk, c.froms)
		}
	}
}
