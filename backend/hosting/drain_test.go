package hosting_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/provider"
)

func TestADrainedHostingTakesNoNewLeaseAndKeepsTheOthers(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	first, second := leaseIDs[0], leaseIDs[1]
	if err := w.Provision(ctx, provisionRequest(first, one(1), alone(serves(1)))); err != nil || !w.rest() {
		t.Fatalf("provision: %v", err)
	}
	before, err := w.Drain(ctx, true)
	if err != nil || !before.On || before.Since.IsZero() {
		t.Fatalf("%+v, %v", before, err)
	}
	for _, when := range []string{"now", "after a restart"} {
		if got := w.Draining(); !got.On || !got.Since.Equal(before.Since) {
			t.Errorf("%s it is %+v, and was %+v", when, got, before)
		}
		err := w.Provision(ctx, provisionRequest(second, one(1), alone(serves(1))))
		if !errors.Is(err, backend.ErrInsufficientResources) || !strings.Contains(err.Error(), "drained") {
			t.Errorf("%s a new lease is %v", when, err)
		}
		// One that is here is not to be provisioned elsewhere.
		if err := w.Provision(ctx, provisionRequest(first, one(1), alone(serves(1)))); !errors.Is(err, backend.ErrAlreadyProvisioned) {
			t.Errorf("%s a lease that is here is %v", when, err)
		}
		load, err := w.GetLoadStats(ctx)
		if ratio, ok := load.CPUAllocatedRatio(); err != nil || !ok || ratio != 1 || load.ActiveContainers != 1 {
			t.Errorf("%s the load is %+v, %v", when, load, err)
		}
		w.open()
	}

	if err := w.Restart(ctx, backend.RestartRequest{LeaseUUID: first, CallbackURL: callbackURL}); err != nil || !w.rest() {
		t.Errorf("restart: %v", err)
	}
	if err := w.Update(ctx, backend.UpdateRequest{LeaseUUID: first, CallbackURL: callbackURL, Payload: alone(serves(2))}); err != nil || !w.rest() {
		t.Errorf("update: %v", err)
	}
	if status := w.status(first); status != backend.ProvisionStatusReady {
		t.Errorf("the lease that was here is %s", status)
	}
	if err := w.Deprovision(ctx, first); err != nil || !w.rest() {
		t.Errorf("deprovision: %v", err)
	}
	if load, err := w.GetLoadStats(ctx); err != nil || load.TotalCPUCores != 0 {
		t.Errorf("an empty one that is drained offers %+v, %v", load, err)
	}

	for range 2 { // again is no error
		if after, err := w.Drain(ctx, false); err != nil || after.On || w.Draining().On {
			t.Fatalf("%+v, %v", after, err)
		}
	}
	w.open()
	if err := w.Provision(ctx, provisionRequest(second, one(1), alone(serves(1)))); err != nil {
		t.Errorf("after the drain: %v", err)
	}
}

func TestADrainThatIsAskedForAgainBeganWhenItBegan(t *testing.T) {
	w := newWorld(t)
	first, err := w.Drain(t.Context(), true)
	again, err2 := w.Drain(t.Context(), true)
	if err != nil || err2 != nil || !again.Since.Equal(first.Since) {
		t.Errorf("%+v, %v, then %+v, %v", first, err, again, err2)
	}
}

func TestADrainConvergesAfterACutAnywhere(t *testing.T) {
	for _, on := range []bool{true, false} {
		for at := 1; ; at++ {
			w := newWorld(t)
			if !on {
				if _, err := w.Drain(t.Context(), true); err != nil {
					t.Fatal(err)
				}
			}
			cut := false
			w.onMoments(func(n int, _ string) (error, bool) {
				if n != at {
					return nil, false
				}
				cut = true
				return errKilled, true
			})
			_, err := w.Drain(t.Context(), on)
			w.onMoments(nil)
			if !cut {
				if err != nil || at != 3 { // before and after one write
					t.Errorf("to %v: there were %d moments, %v", on, at-1, err)
				}
				break
			}
			if err == nil {
				t.Errorf("to %v, cut at %d: it says that it is done", on, at)
			}
			w.open()
			if d, err := w.Drain(t.Context(), on); err != nil || d.On != on {
				t.Errorf("to %v, cut at %d, again: %+v, %v", on, at, d, err)
			}
			w.open()
			if w.Draining().On != on {
				t.Errorf("to %v, cut at %d: after a restart it is not", on, at)
			}
		}
	}
}

func TestADrainThatCannotBeReadKeepsTheHostingFromOpening(t *testing.T) {
	for name, value := range map[string]string{"no JSON": "{", "another form": `{"format":2}`} {
		w := newWorld(t)
		if _, err := w.store.Put(context.Background(), "drain", []byte(value), provider.Version("")); err != nil {
			t.Fatal(err)
		}
		if err := w.tryOpen(); err == nil || !strings.Contains(err.Error(), "whether leases are taken") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALeaseThatFailedIsNotBegunAnewWhileDrained(t *testing.T) {
	w := newWorld(t)
	req := provisionRequest(leaseIDs[0], one(1), alone(breaks))
	if err := w.Provision(t.Context(), req); err != nil || !w.rest() || w.status(leaseIDs[0]) != backend.ProvisionStatusFailed {
		t.Fatalf("it is %s: %v", w.status(leaseIDs[0]), err)
	}
	held := w.pool.Stats()
	if _, err := w.Drain(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	req.Payload = alone(serves(1))
	if err := w.Provision(t.Context(), req); !errors.Is(err, backend.ErrInsufficientResources) {
		t.Errorf("once more: %v", err)
	}
	if got := w.pool.Stats(); got != held {
		t.Errorf("a lease that was refused holds room: %+v, before %+v", got, held)
	}
	if err := w.Deprovision(t.Context(), leaseIDs[0]); err != nil || !w.rest() {
		t.Errorf("it is given up: %v", err)
	}
}
