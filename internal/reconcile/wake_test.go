package reconcile

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWakeupsOfAQueuedKeyCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, rest)
		for range 50 {
			r.Enqueue(web)
			r.Kick(web)
			r.EnqueueAfter(web, 0)
		}
		r.start()
		r.wantPasses(web, 1)
		r.halt()
	})
}

func TestWakeupsOfARunningKeyRunItOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, take(time.Second)).start()
		r.Enqueue(web)
		r.sleep(500 * time.Millisecond)
		for range 50 {
			r.Enqueue(web)
			r.Kick(web)
		}
		r.sleep(time.Minute)
		r.wantTimes(web, 0, time.Second)
		r.halt()
	})
}

func TestAKeyEnqueuedBeforeRunWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, rest)
		r.Enqueue(web)
		r.EnqueueAfter(db, time.Second)
		r.sleep(2 * time.Second)
		r.wantPasses(web, 0)
		r.start()
		r.wantPasses(web, 1)
		r.wantPasses(db, 1)
		r.halt()
	})
}

func TestTheEarliestOfSeveralTimesWins(t *testing.T) {
	for name, order := range map[string][]time.Duration{
		"later first":   {5 * time.Second, 2 * time.Second, 3 * time.Second},
		"earlier first": {2 * time.Second, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Config{}, rest).start()
				for _, d := range order {
					r.EnqueueAfter(web, d)
				}
				r.sleep(time.Minute)
				r.wantTimes(web, 2*time.Second)
				r.halt()
			})
		})
	}
}

func TestRequeueAfterIsHonouredAndReplacedByTheNextPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := []time.Duration{10 * time.Second, 3 * time.Second, 0, 0}
		r := newRig(t, Config{}, nil)
		n := 0
		r.factory = func(_ context.Context, key Key) (Controller, error) {
			return &worker{key, r.record(func(context.Context, Key) (Result, error) {
				n++
				return Result{RequeueAfter: wait[n-1]}, nil
			})}, nil
		}
		r.start()
		r.Enqueue(web)
		r.sleep(4 * time.Second)
		r.Kick(web) // at 4 s; its pass asks for 7 s, which replaces 10 s
		r.sleep(time.Minute)
		r.wantTimes(web, 0, 4*time.Second, 7*time.Second)
		r.halt()
	})
}

func TestAnEnqueueAfterStandsWhateverRunsBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, rest).start()
		r.EnqueueAfter(web, 5*time.Second)
		r.sleep(time.Second)
		r.Kick(web)
		r.sleep(time.Minute)
		r.wantTimes(web, time.Second, 5*time.Second)
		r.halt()
	})
}

func TestATimeThatComesWhileTheKeyRunsRunsItOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, take(2*time.Second)).start()
		r.Enqueue(web)
		r.EnqueueAfter(web, time.Second)
		r.sleep(time.Minute)
		r.wantTimes(web, 0, 2*time.Second)
		r.halt()
	})
}

func TestAForgottenKeyDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Workers: 1}, take(time.Second)).start()
		r.Enqueue(db)
		synctest.Wait()
		r.Enqueue(web)
		r.EnqueueAfter(web, 5*time.Second)
		r.Forget(web)
		r.Forget(db) // running: its pass goes on, its result is dropped
		r.sleep(time.Minute)
		r.wantPasses(web, 0)
		r.wantPasses(db, 1)
		if s := r.Stats(); s.Known != 0 {
			t.Errorf("keys remain: %+v", s)
		}
		if _, ok := r.Results(db); ok {
			t.Error("a forgotten key has a result")
		}
		r.halt()
	})
}

func TestAForgottenKeyComesBackWhenItIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, take(time.Second)).start()
		r.Enqueue(web)
		r.sleep(100 * time.Millisecond)
		r.Forget(web)
		r.Enqueue(web)
		r.sleep(time.Second)
		if out, ok := r.Results(web); ok {
			t.Errorf("the pass of the forgotten key left a result: %+v", out)
		}
		r.sleep(time.Minute)
		r.wantTimes(web, 0, time.Second)
		if _, ok := r.Results(web); !ok {
			t.Error("the key that came back has no result")
		}
		r.halt()
	})
}

func TestAnIdleEngineDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, rest).start()
		r.Enqueue(web)
		r.sleep(time.Second)
		if next := r.next(); next != 0 {
			t.Errorf("a resting engine waits for a time: %s", next)
		}
		r.sleep(24 * time.Hour)
		r.wantPasses(web, 1)
		if r.active != 0 {
			t.Errorf("%d workers exist with nothing to do", r.active)
		}
		r.halt()
	})
}
