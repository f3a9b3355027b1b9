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
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/provider"
)

// inWorld runs a test on virtual time.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(t)) })
}

// ends lets a lease come to rest and holds it against what it should be.
func (w *world) ends(t *testing.T, status backend.ProvisionStatus, sent ...backend.CallbackStatus) *backend.ProvisionInfo {
	t.Helper()
	if !w.wait(func() bool { return !w.Busy() && w.status(leaseIDs[0]) == status }) {
		t.Fatalf("it is %q; want %q", w.status(leaseIDs[0]), status)
	}
	if !w.rest() {
		t.Fatal("it does not come to rest")
	}
	w.checkRest(t, leaseIDs[0])
	if got := w.sent(leaseIDs[0]); !slices.Equal(got, sent) {
		t.Fatalf("it sent %v; want %v", got, sent)
	}
	if status == none {
		return nil
	}
	info, err := w.GetProvision(context.Background(), leaseIDs[0])
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// refuse has calls of one kind fail with err, before they do anything.
func (w *world) refuse(what string, err error) {
	w.onMoments(func(_ int, moment string) (error, bool) {
		if strings.HasPrefix(moment, "before "+what) {
			return err, false
		}
		return nil, false
	})
}

func TestEveryDeathIsTold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)))(w)
		sent := []backend.CallbackStatus{success}
		for range 3 {
			w.die(leaseIDs[0])
			sent = append(sent, failure)
			info := w.ends(t, failed, sent...)
			if info.FailCount != 1 || info.Reason != backend.ReasonContainerExited || info.Message == "" {
				t.Errorf("it failed %d times, %s: %s", info.FailCount, info.Reason, info.Message)
			}
			if err := restart(w); err != nil {
				t.Fatal(err)
			}
			sent = append(sent, success)
			if info = w.ends(t, ready, sent...); info.FailCount != 0 || info.Reason != "" || info.Message != "" {
				t.Errorf("it is ready, and failed %d times, %s: %s", info.FailCount, info.Reason, info.Message)
			}
		}
	})
}

func TestARestartThatFailsGoesBackToTheReleaseThatServed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)), update(one(1), serves(2)))(w)
		w.onMoments(func(_ int, what string) (error, bool) {
			if what == "after restart" {
				go w.die(leaseIDs[0])
				synctest.Wait()
			}
			return nil, false
		})
		if err := restart(w); err != nil {
			t.Fatal(err)
		}
		info := w.ends(t, ready, success, success, failure)
		if info.FailCount != 1 || info.Reason != backend.ReasonRestartFailed || short(info.Image) != "program:2" {
			t.Errorf("it is %+v", info)
		}
		w.onMoments(nil)
		if err := restart(w); err != nil {
			t.Fatal(err)
		}
		w.ends(t, ready, success, success, failure, success)
	})
}

func TestWhatWasChangedIsNotChangedAgainBecauseAnotherServiceFailed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(three(), serves(1)))(w)
		calls := 0
		w.onMoments(func(_ int, what string) (error, bool) {
			if what == "before restart" {
				if calls++; calls > 1 && calls < 6 {
					return errKilled, false
				}
			}
			return nil, false
		})
		if err := restart(w); err != nil {
			t.Fatal(err)
		}
		w.ends(t, ready, success, success)
		if calls != 6 {
			t.Errorf("the provider was told %d times to restart", calls)
		}
	})
}

func TestAChangeThatTheProviderDoesNotTakeEndsInTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)))(w)
		w.refuse("deploy", provider.ErrBusy)
		if err := update(one(1), serves(2))(w); err != nil {
			t.Fatal(err)
		}
		if info := w.ends(t, ready, success, failure); !strings.Contains(info.Message, "in time") || short(info.Image) != "program:1" {
			t.Errorf("it is %+v", info)
		}
	})
}

func TestALeaseThatWasLostIsRestarted(t *testing.T) {
	for _, refusal := range []error{provider.ErrConflict, provider.ErrUnavailable} {
		inWorld(t, func(t *testing.T, w *world) {
			after(provision(three(), serves(1)))(w)
			w.refuse("rollback", refusal)
			if err := update(three(), breaks)(w); err != nil {
				t.Fatal(err)
			}
			if info := w.ends(t, failed, success, failure); info.Reason != backend.ReasonUpdateFailed {
				t.Errorf("it is %+v", info)
			}
			w.onMoments(nil)
			if err := restart(w); err != nil {
				t.Fatal(err)
			}
			w.ends(t, ready, success, failure, success)
			if err := update(three(), serves(2))(w); err != nil {
				t.Fatal(err)
			}
			w.ends(t, ready, success, failure, success, success)
		})
	}
}

func TestARowHasABound(t *testing.T) {
	for _, service := range []string{serves(2), breaks} {
		inWorld(t, func(t *testing.T, w *world) {
			after(provision(one(1), serves(1)))(w)
			for range hosting.MaxReleases + 5 {
				after(update(one(1), service))(w)
			}
			all, err := w.GetReleases(context.Background(), leaseIDs[0])
			if err != nil || len(all) != hosting.MaxReleases {
				t.Fatalf("it has %d releases, %v", len(all), err)
			}
			actives := 0
			for i, rel := range all {
				if rel.Status == backend.ReleaseStatusActive {
					actives++
				}
				if i > 0 && rel.Version <= all[i-1].Version || len(rel.Manifest) == 0 {
					t.Errorf("release %d comes after %d, with %d bytes", rel.Version, all[max(i-1, 0)].Version, len(rel.Manifest))
				}
			}
			if actives != 1 || all[len(all)-1].Version != hosting.MaxReleases+6 {
				t.Errorf("%d releases serve, the last is %d", actives, all[len(all)-1].Version)
			}
			if keys, _ := w.store.List(context.Background(), "manifests/"); len(keys) > hosting.MaxReleases+1 {
				t.Errorf("there are %d manifests", len(keys))
			}
		})
	}
}

func TestALeaseOfNothingIsReady(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(0), breaks), restart, update(one(0), serves(1)))(w)
		w.ends(t, ready, success, success, success)
	})
}

// A row that cannot be read keeps the hosting from starting, and stays as it is.
func TestNothingStartsOnARowThatCannotBeRead(t *testing.T) {
	good := `{"format":1,"lease":"` + leaseIDs[0] + `","status":"ready"}`
	for name, row := range map[string]string{
		"no JSON": good[:len(good)-1], "another form": strings.Replace(good, ":1", ":2", 1), "another lease": strings.Replace(good, leaseIDs[0], leaseIDs[1], 1),
		"an unknown status":      strings.Replace(good, "ready", "sleeping", 1),
		"nothing under way":      strings.Replace(good, "ready", "updating", 1),
		"something under way":    strings.Replace(good, `"ready"`, `"ready","op":{"id":"a","kind":"restart"}`, 1),
		"an unknown kind of it":  strings.Replace(good, `"ready"`, `"restarting","op":{"id":"a","kind":"dance"}`, 1),
		"a kind that is another": strings.Replace(good, `"ready"`, `"restarting","op":{"id":"a","kind":"update"}`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if _, err := w.store.Put(context.Background(), "leases/"+leaseIDs[0], []byte(row), ""); err != nil {
				t.Fatal(err)
			}
			if err := w.tryOpen(); err == nil || !strings.Contains(err.Error(), leaseIDs[0]) {
				t.Errorf("it opens with %v", err)
			}
			if rec, err := w.store.Get(context.Background(), "leases/"+leaseIDs[0]); err != nil || string(rec.Value) != row {
				t.Errorf("the row is %s, %v", rec.Value, err)
			}
		})
	}
	w := newWorld(t)
	if _, err := w.store.Put(context.Background(), "leases/"+leaseIDs[0], []byte(good), ""); err != nil {
		t.Fatal(err)
	}
	if err := w.tryOpen(); err != nil {
		t.Errorf("a good row is refused: %v", err)
	}
}

func TestAManifestThatIsNotThereEndsItsOperation(t *testing.T) {
	for _, begin := range []func(*world) error{provision(one(1), serves(1)), update(one(1), serves(2))} {
		inWorld(t, func(t *testing.T, w *world) {
			want, sent := failed, []backend.CallbackStatus{failure}
			if err := begin(w); err != nil {
				after(provision(one(1), serves(1)))(w)
				if err := begin(w); err != nil {
					t.Fatal(err)
				}
				want, sent = ready, []backend.CallbackStatus{success, failure}
			}
			keys, _ := w.store.List(context.Background(), "manifests/")
			last := keys[len(keys)-1]
			rec, _ := w.store.Get(context.Background(), last)
			if err := w.store.Delete(context.Background(), last, rec.Version); err != nil {
				t.Fatal(err)
			}
			w.ends(t, want, sent...)
		})
	}
}

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
