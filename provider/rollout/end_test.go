package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

func TestTheCauseOfAFailureIsKeptAndWrapped(t *testing.T) {
	w := newWorld(t, Options{Policy: Policy{KeepFailed: true}}).provisioned()
	ro := w.deployed(image("web", "web:broken"))
	if ro.State != StateFailed || ro.EndedAt == nil || ro.Services["web"].State != StateFailed {
		t.Fatalf("rollout %+v", ro)
	}
	err := ro.Err()
	w.wantErr(err, provider.ErrNotReady)
	if !strings.Contains(err.Error(), "exit code 3") {
		t.Fatalf("error %v", err)
	}
}

func TestAFailedReleaseIsRolledBackWithItsReason(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	ro := w.deployed(image("web", "web:broken"))
	if ro.State != StateRolledBack || ro.Failure == nil || ro.Failure.Code != "not_ready" {
		t.Fatalf("rollout %+v", ro)
	}
	w.served(1)
	last := w.events[len(w.events)-1]
	if last.State != StateRolledBack || !errors.Is(last.Err, provider.ErrNotReady) {
		t.Fatalf("event %+v", last)
	}
}

func TestAReleaseThatIsNotReadyInTimeIsRolledBack(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	res, err := w.Deploy(w.ctx(), w.change(image("web", "web:slow")), With{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	w.drive()
	ro := w.rollout(res.Rollout.ID)
	if ro.State != StateRolledBack || ro.EndedAt.Sub(ro.CreatedAt) < time.Minute || ro.EndedAt.Sub(ro.CreatedAt) > 2*time.Minute {
		t.Fatalf("rollout %+v", ro)
	}
	w.wantErr(ro.Err(), provider.ErrNotReady)
	w.served(1)
}

func TestAFailureOfBothWaysNamesBoth(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	w.fake.answer = func(call string) error {
		if call == "rollback" {
			return errors.New("disk full")
		}
		return nil
	}
	ro := w.deployed(image("web", "web:broken"))
	if ro.State != StateFailed || ro.UndoFailure == nil {
		t.Fatalf("rollout %+v", ro)
	}
	if text := ro.Err().Error(); !strings.Contains(text, "exit code 3") || !strings.Contains(text, "disk full") {
		t.Fatalf("error %s", text)
	}
}

func TestAnErrorThatPassesIsOutlastedAndAnUnknownOneIsNot(t *testing.T) {
	for _, c := range []struct {
		err   error
		times int
		want  State
	}{
		{provider.ErrUnavailable, 20, StateSucceeded},
		{provider.ErrBusy, 20, StateSucceeded},
		{errors.New("odd"), 4, StateSucceeded},
		{errors.New("odd"), 20, StateRolledBack},
		{provider.ErrUnavailable, 1000, StateRolledBack},
	} {
		t.Run(fmt.Sprintf("%v %d times", c.err, c.times), func(t *testing.T) {
			w := newWorld(t, Options{}).provisioned()
			left := c.times
			w.fake.answer = func(call string) error {
				if call != "deploy" || left == 0 {
					return nil
				}
				left--
				return c.err
			}
			ro := w.deployed(image("web", "web:2"))
			if ro.State != c.want {
				t.Fatalf("rollout %+v", ro)
			}
			if c.want != StateSucceeded {
				w.wantErr(ro.Err(), ro.Failure)
			}
		})
	}
}

func TestACancelledRolloutReturnsToItsBaseAndStaysCancelled(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	res, err := w.Deploy(w.ctx(), w.change(image("web", "web:2")), With{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if ro, err := w.Cancel(w.ctx(), w.workload, res.Rollout.ID); err != nil || !ro.CancelWanted || ro.Ended() {
			t.Fatalf("%+v, %v", ro, err)
		}
	}
	w.drive()
	ro := w.rollout(res.Rollout.ID)
	if ro.State != StateCancelled {
		t.Fatalf("rollout %+v", ro)
	}
	w.wantErr(ro.Err(), ErrCancelled)
	w.served(1)
	w.unchanged(func() {
		if _, err := w.Cancel(w.ctx(), w.workload, ro.ID); err != nil {
			t.Fatal(err)
		}
	})
	first := w.rollout(w.firstRollout())
	_, err = w.Cancel(w.ctx(), w.workload, first.ID)
	w.wantErr(err, provider.ErrConflict)
	_, err = w.Cancel(w.ctx(), w.workload, w.ids.New(id.KindRollout))
	w.wantErr(err, provider.ErrNotFound)
}

func (w *world) firstRollout() id.ID {
	rollouts, _, err := w.Rollouts(w.ctx(), w.workload, Page{})
	if err != nil {
		w.t.Fatal(err)
	}
	return rollouts[len(rollouts)-1].ID
}

// The runner has seen the instance ready and is about to write that down when
// somebody cancels.
func TestTheLastWriteOfARunnerDoesNotOverwriteACancel(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	res, err := w.Deploy(w.ctx(), w.change(image("web", "web:2")), With{})
	if err != nil {
		t.Fatal(err)
	}
	cancelled := false
	w.store.watch = func(_ string, _, after []byte) {
		rec, err := decode(after)
		if err != nil {
			t.Error(err)
		}
		if ro := rec.rollout(res.Rollout.ID); ro.State == StateSucceeded {
			t.Error("a cancelled rollout was recorded as succeeded")
		}
	}
	inner := w.fake
	w.registry.Register("here", hooked{inner, func() {
		if in := inner.instances[w.workload]; in.serving == res.Release.ID && !cancelled {
			cancelled = true
			if _, err := w.Cancel(w.ctx(), w.workload, res.Rollout.ID); err != nil {
				t.Error(err)
			}
		}
	}})
	w.drive()
	if ro := w.rollout(res.Rollout.ID); !cancelled || ro.State != StateCancelled {
		t.Fatalf("rollout %+v", ro)
	}
	w.served(1)
}

// hooked calls after once a Status was read.
type hooked struct {
	*fake
	after func()
}

func (h hooked) Status(ctx context.Context, instance id.ID) (*provider.InstanceStatus, error) {
	st, err := h.fake.Status(ctx, instance)
	h.after()
	return st, err
}

func TestAFirstRolloutThatIsCancelledLeavesTheInstance(t *testing.T) {
	w := newWorld(t, Options{})
	res, err := w.Provision(w.ctx(), "here", w.request(), With{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Cancel(w.ctx(), w.workload, res.Rollout.ID); err != nil {
		t.Fatal(err)
	}
	w.drive()
	if ro := w.rollout(res.Rollout.ID); ro.State != StateCancelled || w.fake.instances[w.workload] == nil {
		t.Fatalf("rollout %+v", ro)
	}
}

func TestRollbackRestoresAReleaseOfThisWorkloadOnly(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	v1 := w.served(1)
	w.deployed(image("web", "web:2"))
	failed := w.deployed(image("web", "web:broken"))

	other := *w
	other.workload = w.ids.New(id.KindWorkload)
	other.provisioned()
	foreign := other.served(1)

	w.unchanged(func() {
		_, err := w.Rollback(w.ctx(), w.workload, foreign.ID, With{})
		w.wantErr(err, provider.ErrNotFound)
		_, err = w.Rollback(w.ctx(), w.workload, failed.Release, With{})
		w.wantErr(err, provider.ErrConflict)
		_, err = w.Rollback(w.ctx(), other.workload, id.Nil, With{})
		w.wantErr(err, provider.ErrNotFound)
	})
	res, err := w.Rollback(w.ctx(), w.workload, v1.ID, With{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.Rollback(w.ctx(), w.workload, v1.ID, With{})
	if err != nil || again.Rollout.ID != res.Rollout.ID {
		t.Fatalf("%+v, %v", again, err)
	}
	w.drive()
	w.served(1)
	if _, err := w.Rollback(w.ctx(), w.workload, id.Nil, With{}); err != nil {
		t.Fatal(err)
	}
	w.drive()
	w.served(2)
}

func TestARollbackToWhatTheProviderForgotDeploysItWhole(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	v1 := w.served(1)
	w.deployed(image("web", "web:2"))
	delete(w.fake.instances[w.workload].releases, v1.ID)
	if _, err := w.Rollback(w.ctx(), w.workload, v1.ID, With{}); err != nil {
		t.Fatal(err)
	}
	w.drive()
	w.served(1)
}

func TestACallFromElsewhereThatCameLateIsPutRight(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	res, err := w.Deploy(w.ctx(), w.change(image("web", "web:2")), With{})
	if err != nil {
		t.Fatal(err)
	}
	in := w.fake.instances[w.workload]
	if err := w.fake.Rollback(w.ctx(), w.workload, in.serving); err != nil {
		t.Fatal(err)
	}
	w.drive()
	if ro := w.rollout(res.Rollout.ID); ro.State != StateSucceeded {
		t.Fatalf("rollout %+v", ro)
	}
	w.served(2)
}

func TestDeprovisionRemovesTheInstanceAndItsRecords(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	if _, err := w.Deploy(w.ctx(), w.change(image("web", "web:slow")), With{}); err != nil {
		t.Fatal(err)
	}
	down := true
	w.fake.answer = func(call string) error {
		if down && call == "deprovision" {
			return provider.ErrUnavailable
		}
		return nil
	}
	w.wantErr(w.Deprovision(w.ctx(), w.workload), provider.ErrUnavailable)
	_, err := w.Deploy(w.ctx(), w.change(image("web", "web:2")), With{})
	w.wantErr(err, provider.ErrConflict)
	_, err = w.Provision(w.ctx(), "here", w.request(), With{})
	w.wantErr(err, provider.ErrConflict)
	down = false
	if _, err := w.Resume(w.ctx()); err != nil {
		t.Fatal(err)
	}
	if len(w.store.records) != 0 || len(w.fake.instances) != 0 {
		t.Fatalf("left: %v, %v", w.store.records, w.fake.instances)
	}
	if err := w.Deprovision(w.ctx(), w.workload); err != nil {
		t.Fatal(err)
	}
}

func TestForgetLeavesTheInstance(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	for range 2 {
		if err := w.Forget(w.ctx(), w.workload); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.store.records) != 0 || len(w.fake.instances) != 1 {
		t.Fatalf("left: %v, %v", w.store.records, w.fake.instances)
	}
}

// timed is a Manager whose clock is that of the bubble.
func timed(w *world) *Manager {
	w.ids.Now = time.Now
	return New(w.store, w.registry, Options{NewID: w.ids.New})
}

func TestDeployThatWaitsReturnsTheEnd(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("without steps %v", plain), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{})
				if plain {
					w.registry.Register("here", async{w.fake})
				}
				m := timed(w)
				if res, err := m.Provision(w.ctx(), "here", w.request(), With{Wait: true}); err != nil || res.Status != provider.DeploySucceeded {
					t.Fatalf("%+v, %v", res, err)
				}
				res, err := m.Deploy(w.ctx(), w.change(image("web", "web:2")), With{Wait: true})
				if err != nil || res.Rollout.State != StateSucceeded {
					t.Fatalf("%+v, %v", res, err)
				}
				w.served(2)
				res, err = m.Deploy(w.ctx(), w.change(image("web", "web:broken")), With{Wait: true})
				w.wantErr(err, provider.ErrNotReady)
				if res.Rollout.State != StateRolledBack {
					t.Fatalf("%+v", res)
				}
				began := time.Now()
				_, err = m.Deploy(w.ctx(), w.change(image("web", "web:slow")), With{Wait: true, Timeout: time.Minute})
				w.wantErr(err, provider.ErrNotReady)
				if took := time.Since(began); took < time.Minute || took > 2*time.Minute {
					t.Fatalf("it took %s", took)
				}
				w.served(2)
			})
		})
	}
}

// async is the fake as a provider that advances by itself: it hides Step.
type async struct{ provider.Provider }

func (a async) Status(ctx context.Context, instance id.ID) (*provider.InstanceStatus, error) {
	if _, err := a.Provider.(provider.Stepper).Step(ctx, instance); err != nil {
		return nil, err
	}
	return a.Provider.Status(ctx, instance)
}

func TestRunSeesACancelFromAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		m, other := timed(w), timed(w)
		if _, err := m.Provision(w.ctx(), "here", w.request(), With{Wait: true}); err != nil {
			t.Fatal(err)
		}
		res, err := m.Deploy(w.ctx(), w.change(image("web", "web:slow")), With{})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := m.Run(w.ctx(), w.workload, res.Rollout.ID)
			ended <- err
		}()
		<-time.After(time.Minute) // by the bubble's clock
		synctest.Wait()
		if _, err := other.Cancel(w.ctx(), w.workload, res.Rollout.ID); err != nil {
			t.Fatal(err)
		}
		cancelled := time.Now()
		w.wantErr(<-ended, ErrCancelled)
		if took := time.Since(cancelled); took > 10*time.Second {
			t.Fatalf("it took %s", took)
		}
		w.served(1)
	})
}

func TestRunEndsWithItsContextAndGoesOnLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		m := timed(w)
		if _, err := m.Provision(w.ctx(), "here", w.request(), With{Wait: true}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(w.ctx(), 10*time.Second)
		defer cancel()
		_, err := m.Deploy(ctx, w.change(image("web", "web:slow")), With{Wait: true})
		w.wantErr(err, context.DeadlineExceeded)
		open, err := timed(w).Resume(w.ctx())
		if err != nil || len(open) != 1 || open[0].RequeueAfter == 0 || open[0].Rollout.State != StateRunning {
			t.Fatalf("%+v, %v", open, err)
		}
		_, err = m.Run(w.ctx(), w.workload, open[0].Rollout.ID)
		w.wantErr(err, provider.ErrNotReady)
		w.served(1)
		_, err = m.Run(w.ctx(), w.workload, w.ids.New(id.KindRollout))
		w.wantErr(err, provider.ErrNotFound)
	})
}

func TestACallThatHangsIsCutOffAndMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		m := timed(w)
		if _, err := m.Provision(w.ctx(), "here", w.request(), With{Wait: true}); err != nil {
			t.Fatal(err)
		}
		w.registry.Register("here", &hanging{fake: w.fake, left: 2})
		began := time.Now()
		if res, err := m.Deploy(w.ctx(), w.change(image("web", "web:2")), With{Wait: true}); err != nil || res.Rollout.State != StateSucceeded {
			t.Fatalf("%+v, %v", res, err)
		}
		if took := time.Since(began); took < 2*DefaultCallTimeout || took > 3*DefaultCallTimeout {
			t.Fatalf("it took %s", took)
		}
		w.served(2)
	})
}

// hanging answers its first deploys only when their context ends.
type hanging struct {
	*fake
	left int
}

func (h *hanging) Deploy(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
	if h.left > 0 {
		h.left--
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.fake.Deploy(ctx, req)
}

func TestEventsTellEveryMoveInOrder(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	w.events = nil
	res, err := w.Deploy(w.ctx(), w.change(image("web", "web:slow")), With{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Cancel(w.ctx(), w.workload, res.Rollout.ID); err != nil {
		t.Fatal(err)
	}
	w.drive()
	var got []string
	for _, e := range w.events {
		if e.Rollout != res.Rollout.ID || e.Workload != w.workload || e.ReleaseVersion != 2 {
			t.Fatalf("event %+v", e)
		}
		got = append(got, place{e.State, e.Phase}.String())
	}
	want := []string{"pending ", "running apply", "running await", "running await", "running undo", "running undo_await", "cancelled "}
	if !slices.Equal(got, want) {
		t.Fatalf("events %q, want %q", got, want)
	}
}
