package reconcile

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestBackoffDelays(t *testing.T) {
	none := func() float64 { return 0 }
	most := func() float64 { return 0.999999 }
	for _, tc := range []struct {
		name     string
		backoff  Backoff
		failures int
		want     time.Duration
	}{
		{"no failure", Backoff{Rand: none}, 0, 0},
		{"first", Backoff{Base: time.Second, Rand: none}, 1, time.Second},
		{"third", Backoff{Base: time.Second, Rand: none}, 3, 4 * time.Second},
		{"at the ceiling", Backoff{Base: time.Second, Ceiling: 10 * time.Second, Rand: none}, 5, 10 * time.Second},
		{"far beyond it", Backoff{Base: time.Second, Ceiling: 10 * time.Second, Rand: none}, 1 << 30, 10 * time.Second},
		{"most jitter", Backoff{Base: time.Second, Rand: most}, 1, 500 * time.Millisecond},
		{"ceiling below base", Backoff{Base: time.Second, Ceiling: time.Millisecond, Rand: none}, 2, time.Second},
		{"default base", Backoff{Rand: none}, 1, 250 * time.Millisecond},
		{"default ceiling", Backoff{Rand: none}, 100, time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.backoff.Delay(tc.failures); (got - tc.want).Abs() > time.Microsecond {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestBackoffStaysInItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Backoff{
			Base:    time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "base")),
			Ceiling: time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "ceiling")),
			Rand:    func() float64 { return rapid.Float64Range(0, 0.9999999).Draw(t, "rand") },
		}
		failures := rapid.IntRange(1, 200).Draw(t, "failures")
		whole := b
		whole.Rand = func() float64 { return 0 }
		d, longest := b.Delay(failures), whole.Delay(failures)
		if d < longest/2 || d > longest || d <= 0 {
			t.Fatalf("%s is not within a half of %s", d, longest)
		}
		if longest > max(b.Ceiling, b.Base) {
			t.Fatalf("%s is above the ceiling", longest)
		}
		if next := whole.Delay(failures + 1); next < longest {
			t.Fatalf("the wait shrinks from %s to %s", longest, next)
		}
	})
}

func TestAFailingKeyBacksOffAndASuccessResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r := newRig(t, Config{Backoff: Backoff{Base: time.Second, Ceiling: 4 * time.Second}},
			func(context.Context, Key) (Result, error) {
				if n++; n == 5 {
					return Result{RequeueAfter: time.Minute}, nil
				}
				return Result{RequeueAfter: time.Hour}, errBroken // an error overrules RequeueAfter
			}).start()
		r.Enqueue(web)
		r.sleep(73 * time.Second)
		r.wantTimes(web, 0, 1*time.Second, 3*time.Second, 7*time.Second, 11*time.Second, // grows, then the ceiling
			71*time.Second, 72*time.Second) // after the success it starts anew
		if got := r.results[3].Failures; got != 4 {
			t.Errorf("the fourth failure counts %d", got)
		}
		r.halt()
	})
}

func TestEventsDoNotDefeatTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Backoff: Backoff{Base: 8 * time.Second}}, nil)
		crash := func(context.Context, Key) (Result, error) {
			r.Kick(web) // the crash of what the pass started is an event too
			return Result{}, errBroken
		}
		r.factory = func(_ context.Context, key Key) (Controller, error) {
			return &worker{key, r.record(crash)}, nil
		}
		r.start()
		r.Kick(web)
		for range 23 {
			r.sleep(time.Second)
			r.Kick(web)
		}
		r.wantTimes(web, 0, 8*time.Second)
		r.halt()
	})
}

func TestADesiredChangeOverridesTheBackoffAndForgetsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Backoff: Backoff{Base: 8 * time.Second}}, broken).start()
		r.Enqueue(web)
		r.sleep(10 * time.Second) // failed at 0 and 8
		r.Enqueue(web)            // at 10, the first failure again
		r.sleep(9 * time.Second)
		r.wantTimes(web, 0, 8*time.Second, 10*time.Second, 18*time.Second)
		r.halt()
	})
}

func TestADesiredChangeDuringAFailingPassRunsAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Backoff: Backoff{Base: 8 * time.Second}},
			func(ctx context.Context, key Key) (Result, error) {
				_, _ = take(time.Second)(ctx, key)
				return Result{}, errBroken
			}).start()
		r.Enqueue(web)
		r.sleep(500 * time.Millisecond)
		r.Enqueue(web)
		r.sleep(5 * time.Second)
		r.wantTimes(web, 0, time.Second)
		if out, _ := r.Results(web); out.Failures != 1 {
			t.Errorf("the pass after the change counts %d failures, want 1", out.Failures)
		}
		r.halt()
	})
}

func TestATimedWakeupRunsAFailingKeyAndKeepsItsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Backoff: Backoff{Base: 8 * time.Second}}, broken).start()
		r.Enqueue(web)
		r.EnqueueAfter(web, 2*time.Second)
		r.sleep(17 * time.Second)
		r.wantTimes(web, 0, 2*time.Second)
		r.sleep(time.Second)
		r.wantTimes(web, 0, 2*time.Second, 18*time.Second)
		r.halt()
	})
}
