package hosting_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/provider"
)

func TestCallbacksGoOutWhileTheProviderIsDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)))(w)
		if err := w.out.Add(context.Background(), "a", leaseIDs[0], callbackURL, backend.CallbackPayload{LeaseUUID: leaseIDs[0], Status: failure}); err != nil {
			t.Fatal(err)
		}
		w.down = true
		if _, err := w.Step(context.Background(), leaseIDs[0]); !errors.Is(err, provider.ErrUnavailable) {
			t.Errorf("the Step says %v", err)
		}
		if got := w.sent(leaseIDs[0]); !slices.Equal(got, []backend.CallbackStatus{success, failure}) {
			t.Errorf("it sent %v", got)
		}
		if got := w.status(leaseIDs[0]); got != ready {
			t.Errorf("it is %q", got)
		}
	})
}

// A lease gives back what it has though nobody takes its callbacks; they come later.
func TestAFullOutboxKeepsNoRoom(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)))(w)
		w.full = outbox.ErrFull
		if err := restart(w); err != nil {
			t.Fatal(err)
		}
		w.wait(func() bool { return w.status(leaseIDs[0]) == ready })
		if err := deprovision(w); err != nil {
			t.Fatal(err)
		}
		if !w.wait(func() bool { return w.pool.Stats().ActiveContainers == 0 }) || !w.Knows(leaseIDs[0]) {
			t.Errorf("%d containers are counted; known: %t", w.pool.Stats().ActiveContainers, w.Knows(leaseIDs[0]))
		}
		w.full = nil
		w.ends(t, none, success, success, deprovisioned)
	})
}

func TestACallbackThatCannotBeSentHoldsUpNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.full = fmt.Errorf("%w: as the test wants", outbox.ErrInvalid)
		after(provision(one(1), serves(1)))(w)
		w.full = nil
		if got := w.status(leaseIDs[0]); got != ready {
			t.Errorf("it is %q", got)
		}
	})
}

// An update of which nobody knows whether it was accepted is not given the manifest of
// the next one.
func TestAManifestIsNotWrittenOverWhileItsRowIsInDoubt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)))(w)
		w.onMoments(func(_ int, what string) (error, bool) {
			if what == "after put leases/"+leaseIDs[0] {
				w.blind = true
				return errKilled, false
			}
			return nil, false
		})
		if err := update(one(1), serves(2))(w); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		w.onMoments(nil)
		if err := update(one(1), breaks)(w); !errors.Is(err, errKilled) {
			t.Errorf("the second update says %v", err)
		}
		w.blind = false
		if all, _ := w.Leases(context.Background()); !slices.Contains(all, leaseIDs[0]) {
			t.Errorf("steps are wanted of %v", all)
		}
		if info := w.ends(t, ready, success, success); short(info.Image) != "program:2" {
			t.Errorf("it is %+v", info)
		}
	})
}

// A lease of which nobody knows whether it was accepted gets its Steps.
func TestALeaseInDoubtIsNotForgotten(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.onMoments(func(_ int, what string) (error, bool) {
			if what == "after put leases/"+leaseIDs[0] {
				w.blind = true
				return errKilled, false
			}
			return nil, false
		})
		if err := provision(one(1), serves(1))(w); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		w.onMoments(nil)
		w.blind = false
		if !w.Knows(leaseIDs[0]) {
			t.Error("it is not known")
		}
		w.ends(t, ready, success)
	})
}

func TestALeaseThatFailedIsNotProvisionedForAnotherTenant(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), breaks))(w)
		req := provisionRequest(leaseIDs[0], one(1), alone(serves(1)))
		req.Tenant = "tenant-b"
		if err := w.Provision(context.Background(), req); !errors.Is(err, backend.ErrValidation) {
			t.Errorf("it says %v", err)
		}
		w.ends(t, failed, failure)
	})
}

// A lease is provisioned anew in every moment in which it goes: it is refused, or it
// comes up.
func TestAProvisionInEveryMomentOfADeprovision(t *testing.T) {
	accepted, refused := 0, 0
	for at, more := 1, true; more && !t.Failed(); at++ {
		inWorld(t, func(t *testing.T, w *world) {
			after(provision(three(), serves(1)))(w)
			done := make(chan error, 1)
			more = false
			w.onMoments(func(n int, _ string) (error, bool) {
				if n == at {
					more = true
					go func() { done <- provision(one(2), serves(2))(w) }()
					synctest.Wait()
				}
				return nil, false
			})
			if err := deprovision(w); err != nil {
				t.Fatal(err)
			}
			if !w.rest() || !more {
				return
			}
			err := <-done
			switch {
			case err == nil:
				accepted++
				w.ends(t, ready, success, deprovisioned, success)
			case errors.Is(err, backend.ErrAlreadyProvisioned):
				refused++
				w.ends(t, none, success, deprovisioned)
			default:
				t.Errorf("at %d: %v", at, err)
			}
		})
	}
	t.Logf("%d accepted, %d refused", accepted, refused)
	if accepted == 0 || refused == 0 {
		t.Error("not both were seen")
	}
}

// What the provider says it removed, and did not, is removed again.
func TestAWorkloadThatIsStillThereIsNotForgotten(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(three(), serves(1)))(w)
		w.idle = 3
		if err := deprovision(w); err != nil {
			t.Fatal(err)
		}
		w.ends(t, none, success, deprovisioned)
	})
}

func TestADeathThatASecondLookDoesNotFindIsNone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)))(w)
		w.slanders = 1
		if _, err := w.Step(context.Background(), leaseIDs[0]); err != nil {
			t.Fatal(err)
		}
		if w.slanders > 0 {
			t.Error("nobody looked")
		}
		w.ends(t, ready, success)
	})
}

func TestALeaseWithoutWorkloadsHoldsNothingAfterARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(2), breaks))(w)
		if err := deprovision(w); err != nil {
			t.Fatal(err)
		}
		w.open()
		if got := w.pool.Stats().ActiveContainers; got != 0 {
			t.Errorf("%d containers are counted", got)
		}
		w.ends(t, none, failure, deprovisioned)
	})
}

func TestAProvisionThatIsNotWrittenKeepsNoRoom(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.blind = true
		if err := provision(one(2), serves(1))(w); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		w.blind = false
		if got := w.pool.Stats().ActiveContainers; got != 0 {
			t.Errorf("%d containers are counted", got)
		}
	})
}

// A rollback that the provider does not take as long as the change is under way in
// another service has its own time from when it is taken.
func TestGoingBackHasItsTimeFromWhenItBegins(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)))(w)
		began := time.Now()
		w.onMoments(func(_ int, what string) (error, bool) {
			switch {
			case what == "before rollback" && time.Since(began) < 35*time.Second:
				return provider.ErrBusy, false
			case what == "after rollback":
				all := w.Workloads(leaseIDs[0])
				w.die(leaseIDs[0])
				time.AfterFunc(10*time.Second, func() {
					w.mu.Lock()
					defer w.mu.Unlock()
					for _, instance := range all {
						delete(w.dead, instance)
					}
				})
			}
			return nil, false
		})
		if err := update(one(1), breaks)(w); err != nil {
			t.Fatal(err)
		}
		if info := w.ends(t, ready, success, failure); !strings.Contains(info.Message, "rolled back") {
			t.Errorf("it says %q", info.Message)
		}
	})
}

// What is gone and provisioned anew is not buried by a Step that comes late.
func TestALeaseThatLivesAgainIsNotBuried(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)))(w)
		if err := deprovision(w); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if got := w.sent(leaseIDs[0]); len(got) == 2 {
				break
			}
			w.push()
			if _, err := w.Step(context.Background(), leaseIDs[0]); err != nil {
				t.Fatal(err)
			}
		}
		err := w.BuryLate(context.Background(), leaseIDs[0], func() {
			if err := provision(one(2), serves(2))(w); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Error(err)
		}
		w.ends(t, ready, success, deprovisioned, success)
	})
}
