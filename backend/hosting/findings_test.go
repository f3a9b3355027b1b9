package hosting_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
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
		if info.FailCount != 0 || info.Reason != backend.ReasonRestartFailed || short(info.Image) != "program:2" {
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
