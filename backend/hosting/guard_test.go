package hosting_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
)

// gate is a guard that fails when it is told to.
type gate struct {
	fails atomic.Bool
	asked atomic.Int64
}

func (g *gate) Ensure(context.Context) error {
	g.asked.Add(1)
	if g.fails.Load() {
		return errGate
	}
	return nil
}

var errGate = errors.New("the gate is open")

// guardedWorld is a world whose hosting has a guard.
func guardedWorld(t *testing.T) (*world, *gate) {
	t.Helper()
	w := newWorld(t)
	g := &gate{}
	w.guard = g
	w.open()
	return w, g
}

func (w *world) accepted() {
	w.t.Helper()
	if err := w.Provision(context.Background(), guardedRequest()); err != nil {
		w.t.Fatal(err)
	}
}

const guardedLease = "018f3c1e-7b2a-7c4d-9e5f-0123456789ab"

func guardedRequest() backend.ProvisionRequest {
	return backend.ProvisionRequest{
		LeaseUUID: guardedLease, Tenant: "acme", ProviderUUID: "018f3c1e-7b2a-7c4d-9e5f-0000000000ee", CallbackURL: "http://holder.test/callbacks/provision",
		Items: []backend.LeaseItem{{SKU: micro, Quantity: 1}}, Payload: []byte(`{"image":"program:1","args":["listen:8080","wait"],"ports":{"8080/tcp":{}}}`),
	}
}

func TestNothingStartsWhileTheGuardFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := guardedWorld(t)
		g.fails.Store(true)
		w.accepted()
		for range 20 {
			if _, err := w.Step(t.Context(), guardedLease); !errors.Is(err, errGate) {
				t.Fatalf("a step does not tell of the guard: %v", err)
			}
		}
		for _, one := range w.Workloads(guardedLease) {
			if st, err := w.mem.Status(t.Context(), one); err == nil {
				t.Errorf("a workload was made: %+v", st)
			}
		}
		g.fails.Store(false)
		if !w.wait(func() bool { return w.status(guardedLease) == backend.ProvisionStatusReady }) {
			t.Errorf("with the guard back it is %s", w.status(guardedLease))
		}
	})
}

func TestAGuardThatFailsTooLongFailsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := guardedWorld(t)
		g.fails.Store(true)
		w.accepted()
		if !w.wait(func() bool { return w.status(guardedLease) == backend.ProvisionStatusFailed }) {
			t.Errorf("it is %s", w.status(guardedLease))
		}
	})
}

func TestAGuardThatFailsTouchesNothingThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := guardedWorld(t)
		w.accepted()
		if !w.wait(func() bool { return w.status(guardedLease) == backend.ProvisionStatusReady }) {
			t.Fatal(w.status(guardedLease))
		}
		g.fails.Store(true)
		if err := w.Restart(t.Context(), backend.RestartRequest{LeaseUUID: guardedLease, CallbackURL: "http://holder.test/callbacks/provision"}); err != nil {
			t.Fatal(err)
		}
		one := w.Workloads(guardedLease)[0]
		before, err := w.mem.Status(t.Context(), one)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			_, _ = w.Step(t.Context(), guardedLease)
			<-time.After(50 * time.Millisecond)
		}
		after, err := w.mem.Status(t.Context(), one)
		if err != nil || !after.Ready || after.ReleaseID != before.ReleaseID || after.TargetReleaseID != before.TargetReleaseID {
			t.Errorf("it was %+v and is %+v, %v", before, after, err)
		}
		// What is given up goes all the same.
		if err := w.Deprovision(t.Context(), guardedLease); err != nil {
			t.Fatal(err)
		}
		if !w.wait(func() bool { return len(w.Workloads(guardedLease)) == 0 }) {
			t.Errorf("it is not given up: %s", w.status(guardedLease))
		}
	})
}

func TestTheGuardIsAskedInEveryStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := guardedWorld(t)
		w.accepted()
		if !w.rest() || w.status(guardedLease) != backend.ProvisionStatusReady {
			t.Fatal(w.status(guardedLease))
		}
		for range 5 {
			before := g.asked.Load()
			if _, err := w.Step(t.Context(), guardedLease); err != nil {
				t.Fatal(err)
			}
			if g.asked.Load() == before {
				t.Error("a step of a lease that is ready does not ask")
			}
		}
	})
}

// What a lease gives up is stored, restored and removed by nobody's leave.
func TestAGuardThatFailsForEverKeepsNoLeaseFromGoing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := guardedWorld(t)
		a, b := leaseIDs[0], leaseIDs[1]
		for _, lease := range []string{a, b} {
			if err := w.Provision(t.Context(), provisionRequest(lease, onDisk(one(1)), alone(serves(1)))); err != nil {
				t.Fatal(err)
			}
		}
		w.until("ready", func() bool { return w.rest() && w.status(a) == ready && w.status(b) == ready })
		g.fails.Store(true)
		if err := w.Deprovision(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		w.until("retained", func() bool { return w.rest() && w.status(a) == none && w.Left(a) })
		// A restore cannot be, and what was retained is so again.
		restore := backend.RestoreRequest{LeaseUUID: leaseIDs[2], FromLeaseUUID: a, Tenant: "tenant-a", Items: onDisk(one(1)), CallbackURL: callbackURL}
		if err := w.Restore(t.Context(), restore); err != nil {
			t.Fatal(err)
		}
		w.until("failed", func() bool { return w.status(leaseIDs[2]) == failed && !w.Claimed(a) && w.Left(a) })
		w.retention = hosting.Retention{}
		w.open()
		if err := w.Deprovision(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		w.until("gone", func() bool { return w.rest() && w.status(b) == none && !w.Left(b) })
		w.checkRest(t, leaseIDs...)
	})
}
