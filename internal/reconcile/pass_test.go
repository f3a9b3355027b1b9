package reconcile

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPanicIsAFailureOfItsKeyAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		cfg := Config{Workers: 1, Backoff: Backoff{Base: time.Second}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		n := 0
		r := newRig(t, cfg, func(_ context.Context, key Key) (Result, error) {
			if n++; key == web && n == 1 {
				panicHere()
			}
			return Result{}, nil
		}).start()
		r.Enqueue(web)
		synctest.Wait()
		out, _ := r.Results(web)
		if !errors.Is(out.Err, ErrPanic) || !strings.Contains(out.Err.Error(), "out of ideas") {
			t.Errorf("the outcome is %v", out.Err)
		}
		if !strings.Contains(log.String(), "panicHere") {
			t.Errorf("the log does not have the stack:\n%s", log.String())
		}
		r.Enqueue(db)
		r.sleep(time.Second)
		r.wantPasses(db, 1)
		r.wantTimes(web, 0, time.Second)
		r.halt()
	})
}

func panicHere() { panic("out of ideas") }

func TestAControllerThatEndsItsGoroutineIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Workers: 1}, func(_ context.Context, key Key) (Result, error) {
			if key == web {
				runtime.Goexit()
			}
			return Result{}, nil
		}).start()
		r.Enqueue(web)
		r.Enqueue(db)
		synctest.Wait()
		if out, _ := r.Results(web); !errors.Is(out.Err, ErrPanic) {
			t.Errorf("the outcome is %v", out.Err)
		}
		r.wantPasses(db, 1) // by the next worker
		r.halt()
	})
}

func TestAPassIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{PassTimeout: 5 * time.Second}, take(time.Hour)).start()
		r.Enqueue(web)
		r.sleep(5 * time.Second)
		out, ok := r.Results(web)
		if !ok || !errors.Is(out.Err, ErrPassTimeout) || !errors.Is(out.Err, context.DeadlineExceeded) {
			t.Errorf("the outcome is %v", out.Err)
		}
		if out.Took != 5*time.Second || out.Failures != 1 || out.Interrupted {
			t.Errorf("the outcome is %+v", out)
		}
		r.halt()
	})
}

func TestAKeyWithoutAControllerIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, nil)
		r.factory = func(context.Context, Key) (Controller, error) { return nil, nil }
		r.EnqueueAfter(web, time.Hour)
		r.Enqueue(web)
		r.start()
		if len(r.results) != 1 || !r.results[0].Gone {
			t.Errorf("the outcomes are %+v", r.results)
		}
		if s := r.Stats(); s != (Stats{}) {
			t.Errorf("something remains: %+v", s)
		}
		r.halt()
	})
}

func TestAKeyRecreatedWhileItsFactorySaidGoneRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, nil)
		calls := 0
		r.factory = func(ctx context.Context, key Key) (Controller, error) {
			if calls++; calls == 1 {
				sleep(ctx, time.Second)
				return nil, nil
			}
			return &worker{key, r.record(rest)}, nil
		}
		r.start()
		r.Enqueue(web)
		r.sleep(500 * time.Millisecond)
		r.Enqueue(web)
		r.sleep(time.Second)
		r.wantTimes(web, time.Second)
		if _, ok := r.Results(web); !ok {
			t.Error("the key has no result")
		}
		r.halt()
	})
}

func TestAFactoryErrorBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r := newRig(t, Config{Backoff: Backoff{Base: time.Second}}, nil)
		r.factory = func(context.Context, Key) (Controller, error) {
			calls++
			return nil, errBroken
		}
		r.start()
		r.Enqueue(web)
		r.sleep(4 * time.Second) // 0, 1, 3
		if calls != 3 {
			t.Errorf("%d calls, want 3", calls)
		}
		if out, _ := r.Results(web); !errors.Is(out.Err, errBroken) || out.Failures != 3 {
			t.Errorf("the outcome is %+v", out)
		}
		r.halt()
	})
}

func TestTheResultHookSeesEveryPassAndMayPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []Outcome
		r := newRig(t, Config{}, nil)
		r.cfg.OnResult = func(o Outcome) {
			seen = append(seen, o)
			if len(seen) == 1 {
				r.Kick(o.Key) // allowed: it runs again after the hook
				panic("hook")
			}
		}
		r.factory = func(_ context.Context, key Key) (Controller, error) {
			return &worker{key, func(ctx context.Context, key Key) (Result, error) {
				sleep(ctx, time.Second)
				return Result{RequeueAfter: time.Minute}, nil
			}}, nil
		}
		r.start()
		r.Enqueue(web)
		r.sleep(10 * time.Second)
		if len(seen) != 2 {
			t.Fatalf("%d outcomes, want 2", len(seen))
		}
		if o := seen[1]; o.Took != time.Second || !o.Next.Equal(o.Ended.Add(time.Minute)) || o.Key != web {
			t.Errorf("the outcome is %+v", o)
		}
		r.halt()
	})
}

func TestTheLagIsTheTimeBetweenReadyAndStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Workers: 1}, take(2*time.Second)).start()
		r.Enqueue(web)
		synctest.Wait()
		r.Enqueue(db)
		r.sleep(5 * time.Second)
		if out, _ := r.Results(db); out.Lag != 2*time.Second {
			t.Errorf("the lag is %s, want 2s", out.Lag)
		}
		r.halt()
	})
}
