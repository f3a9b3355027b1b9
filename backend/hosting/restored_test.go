package hosting_test

import (
	"testing"
	"testing/synctest"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
)

// restored has a lease be ready with what another one left, and not know yet that it
// may keep it.
func restoredNotKept(t *testing.T, w *world, from, to string, items []backend.LeaseItem) {
	t.Helper()
	if err := w.Provision(t.Context(), provisionRequest(from, onDisk(one(1)), alone(serves(1)))); err != nil {
		t.Fatal(err)
	}
	w.until("ready", func() bool { return w.rest() && w.status(from) == ready })
	if err := w.Deprovision(t.Context(), from); err != nil {
		t.Fatal(err)
	}
	w.until("gone", func() bool { return w.rest() && w.status(from) == none })
	if err := w.Restore(t.Context(), backend.RestoreRequest{LeaseUUID: to, FromLeaseUUID: from, Tenant: "tenant-a", Items: items, CallbackURL: callbackURL}); err != nil {
		t.Fatal(err)
	}
	w.until("restored", func() bool { return w.status(to) == ready })
	if !w.Claimed(from) {
		t.Fatal("it is kept already")
	}
}

// The bytes are one set: what is counted of the lease that left them before must not be
// counted beside what the lease that has them now leaves.
func TestARestoredLeaseThatIsGivenUpAtOnceIsRetainedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.retention = hosting.Retention{OnClose: true, MaxTenantMB: 100, MaxTotalMB: 100}
		w.open()
		a, b := leaseIDs[0], leaseIDs[1]
		restoredNotKept(t, w, a, b, onDisk(one(1)))
		if err := w.Deprovision(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		w.until("gone", func() bool { return w.rest() && w.status(b) == none })
		if !w.Left(b) {
			t.Error("its data is gone")
		}
		w.checkRest(t, a, b)
	})
}

// The pool counts what the record says, also where the disk became larger.
func TestALargerDiskOfARestoredLeaseIsCountedWhenItIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := leaseIDs[0], leaseIDs[1]
		items := onDisk(one(1))
		items[0].SKU = large
		restoredNotKept(t, w, a, b, items)
		if err := w.Deprovision(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		w.until("gone", func() bool { return w.rest() && w.status(b) == none })
		w.checkRest(t, a, b)
	})
}
