package hosting_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/resolvable"
	"github.com/berth-cloud/berth/provider"
)

func (w *world) inspect(t *testing.T, lease string) *hosting.Inspection {
	t.Helper()
	in, err := w.Inspect(context.Background(), lease)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// The volumes of a lease from its first day until nothing is left of them, as who
// operates the backend sees them.
func TestAnInspectionHasTheVolumesOfALeaseAlsoWhenNothingElseIsLeft(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first, second := leaseIDs[0], leaseIDs[1]
		w.retention.Grace = 24 * time.Hour
		w.open()
		after(provision(onDisk(one(2)), serves(1)))(w)
		in := w.inspect(t, first)
		if len(in.Volumes) != 1 || in.Volumes[0].State != "held" || in.Volumes[0].Owner != first || in.Volumes[0].Left != "" || in.Volumes[0].DiskMB != 128 || in.Volumes[0].Tenant != "tenant-a" {
			t.Fatalf("while it is ready it has %+v", in.Volumes)
		}
		set := in.Volumes[0]
		if len(set.Volumes) != 2 || set.Volumes[1] != (hosting.Volume{ID: set.Volumes[1].ID, Service: "app", Path: "/data", Index: 1}) || !slices.Contains(w.cluster.KeptVolumes(), "tenant-a/"+set.Volumes[1].ID) {
			t.Errorf("the volumes are %+v; there are %v", set.Volumes, w.cluster.KeptVolumes())
		}
		if kept, _ := w.Retained("", 0); len(kept) != 0 {
			t.Errorf("retained is %+v", kept)
		}

		after(func(w *world) error { return w.Deprovision(context.Background(), first) })(w)
		in = w.inspect(t, first)
		one := in.Volumes[0]
		if in.Gone || in.Lease.Status != backend.ProvisionStatusRetained || in.CallbackOrigin != "http://holder.test" || len(in.Lease.Items) != 1 ||
			one.ID != set.ID || one.State != "retained" || one.Owner != "" || one.Left != first || one.Until.Sub(one.LeftAt) != 24*time.Hour || !slices.Equal(one.Volumes, set.Volumes) {
			t.Errorf("once it is given up it is %+v", in)
		}
		if found, more := w.Matching(first[:len(first)-1], 0); !slices.Equal(found, []string{first}) || more {
			t.Errorf("by its beginning %v is found", found)
		}

		req := restoreRequest(second, first, disk)
		req.Items[0].Quantity = 2
		if err := w.Restore(context.Background(), req); err != nil {
			t.Fatal(err)
		}
		for _, lease := range []string{first, second} {
			if in := w.inspect(t, lease); len(in.Volumes) != 1 || in.Volumes[0].State != "restoring" || in.Volumes[0].Owner != second || in.Volumes[0].Left != first {
				t.Errorf("while it is restored lease %s has %+v", lease, in.Volumes)
			}
		}
		if in := w.inspect(t, second); in.Op == nil || in.Op.Kind != "restore" {
			t.Errorf("the operation is %+v", in.Op)
		}
		if !w.rest() {
			t.Fatal("it does not come to rest")
		}
		if in := w.inspect(t, second); len(in.Volumes) != 1 || in.Volumes[0].State != "held" || in.Volumes[0].ID != set.ID || in.Volumes[0].Left != "" {
			t.Errorf("what was restored has %+v", in.Volumes)
		}
		if _, err := w.Inspect(context.Background(), first); !errors.Is(err, backend.ErrNotProvisioned) {
			t.Errorf("of the first there is still something: %v", err)
		}

		// What cannot be removed is shown as long as it is there.
		w.retention = hosting.Retention{}
		w.open()
		w.stuck = provider.ErrBusy
		if err := w.Deprovision(context.Background(), second); err != nil || !w.wait(func() bool { return w.status(second) == none }) {
			t.Fatalf("it is not given up: %v", err)
		}
		in = w.inspect(t, second)
		if !in.Gone || in.Lease.Status != backend.ProvisionStatusDeprovisioning || in.Lease.Tenant != "tenant-a" || len(in.Volumes) != 1 ||
			in.Volumes[0].State != "reaping" || in.Volumes[0].Attempts == 0 || in.Volumes[0].TriedAt.IsZero() || !in.Volumes[0].Until.IsZero() {
			t.Errorf("what cannot be removed is %+v", in)
		}
		if kept, more := w.Retained("", 1); len(kept) != 1 || kept[0].State != "reaping" || more {
			t.Errorf("retained is %+v, %t", kept, more)
		}
		w.stuck = nil
		w.skip(2 * time.Hour)
		if !w.wait(func() bool { kept, _ := w.Retained("", 0); return len(kept) == 0 }) {
			t.Error("it is never removed")
		}
	})
}

func TestWhatIsRetainedComesInPagesForTheOperatorToo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.closed(t, leaseIDs...)
		all, more := w.Retained("", 0)
		if len(all) != len(leaseIDs) || more {
			t.Fatalf("there are %d, %t", len(all), more)
		}
		var walked []string
		for after := ""; ; {
			page, more := w.Retained(after, 2)
			if len(page) > 2 || len(page) == 0 {
				t.Fatalf("a page is %+v", page)
			}
			for _, one := range page {
				walked = append(walked, one.ID)
			}
			if !more {
				break
			}
			after = page[len(page)-1].ID
		}
		var want []string
		for _, one := range all {
			want = append(want, one.ID)
		}
		if !slices.Equal(walked, want) || !slices.IsSorted(want) {
			t.Errorf("page by page they are %v; at once %v", walked, want)
		}
		if found, more := w.Matching("", 2); !slices.Equal(found, leaseIDs[:2]) || !more {
			t.Errorf("the first two are %v, %t", found, more)
		}
	})
}

func TestAnInspectionOfALeaseThatFailedAndIsGoneSaysWhy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), breaks), func(w *world) error { return w.Deprovision(context.Background(), leaseIDs[0]) })(w)
		in := w.inspect(t, leaseIDs[0])
		if !in.Gone || in.Lease.Status != backend.ProvisionStatusFailed || in.Lease.Reason == "" || len(in.Volumes) != 0 {
			t.Errorf("it is %+v", in)
		}
		if found, _ := w.Matching(leaseIDs[0], 0); len(found) != 1 {
			t.Errorf("by its beginning %v is found", found)
		}
	})
}

func TestAnInspectionHasTheDomainsOfALeaseAndWhyTheyAreNotThere(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lease := leaseIDs[0]
		w.provisioned(lease)
		w.wants(lease, shop)
		w.until("it is served", func() bool { return w.domain(lease) == shop })
		if got := w.inspect(t, lease).Domains; !slices.Equal(got, []hosting.Domain{{Service: "app", Name: shop, State: "served"}}) {
			t.Errorf("it has %+v", got)
		}
		w.plane.set(func(p *plane) { p.dns[mart] = resolvable.ErrNoAddress })
		w.wants(lease, mart)
		if !w.rest() {
			t.Fatal("it does not come to rest")
		}
		got := w.inspect(t, lease).Domains
		if len(got) != 2 || got[0].Name != shop || got[0].State != "served" || got[1].Name != mart || got[1].State != "waits" || got[1].Why != "it does not resolve" || !got[1].Again.After(got[1].Since) {
			t.Errorf("it has %+v", got)
		}
		w.plane.set(func(p *plane) { p.dns[mart], p.others[mart] = nil, true })
		w.until("somebody else has it", func() bool { d := w.inspect(t, lease).Domains; return len(d) == 2 && d[1].State == "refused" })
		if got := w.inspect(t, lease).Domains[1]; got.Why != "somebody else has it" {
			t.Errorf("it is %+v", got)
		}
		w.noDomains = true
		w.open()
		if got := w.inspect(t, lease).Domains; len(got) != 2 || got[0].State != "waits" || got[0].Why == "" {
			t.Errorf("where nothing is routed it has %+v", got)
		}
	})
}
