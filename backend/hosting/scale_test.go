package hosting

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// anywhere is an ingress of which nothing is asked.
type anywhere struct{}

func (anywhere) Check(context.Context, string) error { return nil }
func (anywhere) Changed()                            {}
func (anywhere) Host(string, string) Answer          { return Unanswered }
func (anywhere) Left(string) bool                    { return true }

// many is a hosting that has n leases which are ready, each with a domain, and no
// provider.
func many(tb testing.TB, n int) *Hosting {
	tb.Helper()
	store := provider.NewMemoryStore()
	all, err := openRows(tb.Context(), store)
	if err != nil {
		tb.Fatal(err)
	}
	sets, err := openSets(tb.Context(), store)
	if err != nil {
		tb.Fatal(err)
	}
	h := &Hosting{
		cfg:  Config{Logger: slog.New(slog.DiscardHandler), Ingress: &Ingress{Wildcard: "leases.example.net", Gate: anywhere{}, Router: anywhere{}}, Now: time.Now, Timing: Timing{}.withDefaults()},
		rows: all, sets: sets, asking: make(chan struct{}, maxAsking),
	}
	for i := range n {
		if _, err := all.put(tb.Context(), leaseOf(i), ""); err != nil {
			tb.Fatal(err)
		}
	}
	all.changed = h.tellRouter
	return h
}

func leaseOf(i int) *row {
	return &row{
		Format: rowFormat, Lease: fmt.Sprintf("018f3c1e-7b2a-7c4d-9e5f-%012d", i), CreatedAt: time.Unix(int64(i), 0), Status: backend.ProvisionStatusReady,
		Items:     []backend.LeaseItem{{ServiceName: "app", Quantity: 1, CustomDomain: fmt.Sprintf("shop-%d.example.org", i)}},
		Workloads: map[string]workload{"app": {Instance: id.New(id.KindWorkload), Release: id.New(id.KindRelease)}},
		Releases:  []release{{Version: 1, Status: backend.ReleaseStatusActive, Ports: map[string]int{"app": 80}}},
		Names:     names{Seen: map[string][]seen{"app": {{0, fmt.Sprintf("10.%d.%d.2:80", i>>8&255, i&255)}}}},
	}
}

func BenchmarkRoutesOfManyLeases(b *testing.B) {
	h := many(b, 10_000)
	for b.Loop() {
		if len(h.Routes()) != 20_000 {
			b.Fatal("not all")
		}
	}
}

// A look at the wishes of one lease costs what its rivals cost, not what all leases do.
func TestAWishAmongManyLeasesLooksAtItsRivalsAlone(t *testing.T) {
	h := many(t, 1000)
	r := leaseOf(1)
	r.ask("app", "shop-7.example.org", time.Now())
	if _, err := h.rows.put(t.Context(), r, h.rows.get(r.Lease).version); err != nil {
		t.Fatal(err)
	}
	if got := h.rows.rivals(r); len(got) != 2 {
		t.Errorf("there are %d rivals; want the lease itself and the one that has the domain", len(got))
	}
	next, _, err := h.wishes(t.Context(), r)
	if err != nil || next == nil || next.Names.Wishes["app"].Why != whyTaken {
		t.Errorf("a domain of another lease is given: %+v, %v", next, err)
	}
	// The other one lets go, and nothing is remembered of it.
	other := leaseOf(7)
	other.Items[0].CustomDomain = ""
	if _, err := h.rows.put(t.Context(), other, h.rows.get(other.Lease).version); err != nil {
		t.Fatal(err)
	}
	if got := h.rows.rivals(r); len(got) != 1 || got[0] != r {
		t.Errorf("there still are %d rivals", len(got))
	}
	for i := range 1000 {
		if err := h.rows.drop(t.Context(), h.rows.get(leaseOf(i).Lease)); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.rows.wanting)+len(h.rows.owner)+len(h.rows.known)+len(h.rows.order) > 0 {
		t.Errorf("of leases that are gone there is left %v, %v, %v, %v", h.rows.wanting, h.rows.owner, h.rows.known, h.rows.order)
	}
}

func BenchmarkAWishAmongManyLeases(b *testing.B) {
	h := many(b, 10_000)
	r := leaseOf(1)
	r.ask("app", "mart.example.org", time.Now())
	for b.Loop() {
		if _, _, err := h.wishes(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAChangeAmongManyLeases(b *testing.B) {
	h := many(b, 10_000)
	k := h.rows.get(leaseOf(5000).Lease)
	for b.Loop() {
		next := k.row.clone()
		next.FailCount++
		var err error
		if k, err = h.rows.put(b.Context(), next, k.version); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkALookAtAllSets(b *testing.B) {
	h := many(b, 0)
	for i := range 10_000 {
		s := &set{Format: setFormat, ID: fmt.Sprint("set-", i), State: setRetained, Tenant: "a", Left: &leaving{Lease: fmt.Sprint("lease-", i), DiskMB: 1}}
		if err := h.sets.put(b.Context(), s, ""); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		Retention{MaxPerTenant: 10_000}.admits(h.sets.all(), "a", 1)
	}
}
