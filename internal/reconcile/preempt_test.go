package reconcile

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// stubborn takes a second to notice that it was cancelled.
func stubborn(ctx context.Context, _ Key) (Result, error) {
	if sleep(ctx, time.Minute) {
		return Result{}, nil
	}
	sleep(context.WithoutCancel(ctx), time.Second)
	return Result{Conditions: []Condition{{Type: ConditionReady, Status: False, Reason: "Cancelled"}}}, ctx.Err()
}

func TestPreemptCancelsThePassAndWaitsUntilItReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, stubborn).start()
		r.Enqueue(web)
		r.sleep(10 * time.Second)
		began := time.Now()
		release, err := r.Preempt(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("Preempt returned after %s, want the second that the pass took to return", took)
		}
		if s := r.Stats(); s.Running != 0 || s.Parked != 1 {
			t.Errorf("while parked: %+v", s)
		}
		if len(r.results) != 1 || !r.results[0].Interrupted || r.results[0].Conditions != nil {
			t.Errorf("the outcomes are %+v", r.results)
		}
		r.sleep(time.Hour)
		r.wantPasses(web, 1)
		release()
		synctest.Wait()
		r.wantPasses(web, 2) // what was interrupted is done again, at once
		if out, _ := r.Results(web); out.Failures != 0 {
			t.Errorf("the preemption counts as %d failures", out.Failures)
		}
		r.halt()
	})
}

func TestAParkedKeyDoesNotRunUntilItIsReleased(t *testing.T) {
	wakeups := map[string]func(r *rig){
		"queued before":  func(r *rig) {},
		"desired change": func(r *rig) { r.Enqueue(web) },
		"event":          func(r *rig) { r.Kick(web) },
		"time":           func(r *rig) { r.EnqueueAfter(web, time.Second) },
	}
	for name, wakeup := range wakeups {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Config{Workers: 1}, take(time.Second)).start()
				if name == "queued before" {
					r.Enqueue(db)
					synctest.Wait()
					r.Enqueue(web)
				}
				release, err := r.Preempt(t.Context(), web)
				if err != nil {
					t.Fatal(err)
				}
				wakeup(r)
				r.sleep(time.Minute)
				r.wantPasses(web, 0)
				release()
				release() // again is allowed
				r.sleep(time.Minute)
				r.wantPasses(web, 1)
				r.halt()
			})
		})
	}
}

func TestAHoldOnAKeyAtRestLeavesItAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, rest).start()
		r.Enqueue(web)
		synctest.Wait()
		for _, key := range []Key{web, db} { // db is unknown
			release, err := r.Preempt(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			release()
		}
		r.sleep(time.Hour)
		r.wantPasses(web, 1)
		r.wantPasses(db, 0)
		if s := r.Stats(); s.Known != 1 {
			t.Errorf("a hold on an unknown key left it behind: %+v", s)
		}
		r.halt()
	})
}

func TestAKeyIsHeldByOneCallerAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, rest).start()
		first, err := r.Preempt(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Preempt(short, web); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second hold within the first: %v", err)
		}
		got := make(chan func())
		go func() {
			second, err := r.Preempt(t.Context(), web)
			if err != nil {
				t.Error(err)
			}
			got <- second
		}()
		r.Enqueue(web)
		r.sleep(time.Second)
		r.wantPasses(web, 0)
		first()
		second := <-got
		second()
		synctest.Wait()
		if n := len(r.passes(web)); n < 1 || n > 2 { // the key may run between the two
			t.Errorf("%d passes after both holds", n)
		}
		r.halt()
	})
}

func TestPreemptGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, stubborn).start()
		r.Enqueue(web)
		r.sleep(time.Second)
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := r.Preempt(short, web); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Preempt returned %v", err)
		}
		if s := r.Stats(); s.Parked != 0 {
			t.Errorf("the key is held by nobody: %+v", s)
		}
		r.sleep(2 * time.Second)
		r.wantPasses(web, 2)
		r.halt()
	})
}

func TestAPassCannotPreemptItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, nil)
		var own, other error
		r.factory = func(_ context.Context, key Key) (Controller, error) {
			return &worker{key, func(ctx context.Context, _ Key) (Result, error) {
				_, own = r.Preempt(ctx, key)
				release, err := r.Preempt(ctx, db)
				if other = err; err == nil {
					release()
				}
				return Result{}, nil
			}}, nil
		}
		r.start()
		r.Enqueue(web)
		synctest.Wait()
		if !errors.Is(own, ErrOwnPass) || other != nil {
			t.Errorf("its own key: %v, another: %v", own, other)
		}
		r.halt()
	})
}

func TestAPassThatSucceedsThoughPreemptedCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, func(ctx context.Context, _ Key) (Result, error) {
			sleep(context.WithoutCancel(ctx), time.Second)
			return Result{}, nil
		}).start()
		r.Enqueue(web)
		synctest.Wait()
		release, err := r.Preempt(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		release()
		r.sleep(time.Hour)
		r.wantPasses(web, 1)
		if out, ok := r.Results(web); !ok || out.Err != nil {
			t.Errorf("the outcome is %+v", out)
		}
		r.halt()
	})
}

func TestAParkedKeyLeavesItsGroupToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Group: func(Key) string { return "node" }, GroupLimit: func(string) int { return 1 }}
		r := newRig(t, cfg, take(time.Second)).start()
		all := keys("application", 3)
		for _, key := range all {
			r.Enqueue(key)
			synctest.Wait()
		}
		release, err := r.Preempt(t.Context(), all[1]) // the next in its group
		if err != nil {
			t.Fatal(err)
		}
		r.sleep(10 * time.Second)
		r.wantTimes(all[2], time.Second)
		release()
		r.sleep(time.Second)
		r.wantPasses(all[1], 1)
		r.halt()
	})
}
