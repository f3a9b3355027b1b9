package reconcile

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func listOf(keys ...Key) func(context.Context) ([]Key, error) {
	return func(context.Context) ([]Key, error) { return append([]Key(nil), keys...), nil }
}

func TestEveryKeyRunsAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{List: listOf(web, db), ResyncInterval: -1}, rest).start()
		r.wantPasses(web, 1)
		r.wantPasses(db, 1)
		r.sleep(24 * time.Hour)
		r.wantPasses(web, 1)
		r.halt()
	})
}

func TestTheWatchdogRunsEveryKeySpreadOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := keys("application", 1000)
		r := newRig(t, Config{List: listOf(all...), ResyncInterval: 10 * time.Minute}, rest).start()
		r.sleep(10*time.Minute - time.Millisecond)
		r.wantPasses(all[0], 1)
		r.sleep(time.Second)
		if r.passes(all[0]) == nil || len(r.passes(all[999])) != 1 {
			t.Error("the watchdog woke all keys at once")
		}
		r.sleep(5 * time.Minute)
		perTime := map[time.Duration]int{}
		for _, key := range all {
			r.wantPasses(key, 2)
			perTime[r.passes(key)[1].Round(time.Millisecond)]++
		}
		for at, n := range perTime {
			if n > 10 {
				t.Errorf("%d keys ran at %s", n, at)
			}
		}
		r.sleep(10 * time.Minute)
		r.wantPasses(all[500], 3)
		r.halt()
	})
}

func TestTheWatchdogDoesNotDefeatTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{List: listOf(web), ResyncInterval: 10 * time.Second,
			Backoff: Backoff{Base: time.Minute, Ceiling: time.Minute}}
		r := newRig(t, cfg, broken).start()
		r.sleep(90 * time.Second)
		r.wantTimes(web, 0, time.Minute)
		r.halt()
	})
}

func TestResyncRunsFailingKeysOnceEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{List: listOf(web), ResyncInterval: -1, Backoff: Backoff{Base: time.Minute, Ceiling: time.Hour}}
		r := newRig(t, cfg, broken).start()
		r.sleep(10 * time.Second)
		r.Resync()
		r.sleep(10 * time.Second)
		r.wantTimes(web, 0, 10*time.Second)
		r.sleep(119 * time.Second) // the second failure waits two minutes
		r.wantTimes(web, 0, 10*time.Second, 130*time.Second)
		r.halt()
	})
}

func TestAFailedListingIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		cfg := Config{ResyncInterval: -1, Backoff: Backoff{Base: time.Second},
			List: func(context.Context) ([]Key, error) {
				switch calls++; calls {
				case 1:
					return nil, errBroken
				case 2:
					panic("the store is closed")
				}
				return []Key{web}, nil
			}}
		r := newRig(t, cfg, rest).start()
		r.sleep(10 * time.Second)
		r.wantTimes(web, 3*time.Second)
		r.halt()
	})
}

func TestAResyncDuringAListingListsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		cfg := Config{ResyncInterval: time.Hour, List: func(ctx context.Context) ([]Key, error) {
			n := calls.Add(1)
			sleep(ctx, time.Second)
			if n == 1 {
				return nil, nil
			}
			return []Key{web}, nil
		}}
		r := newRig(t, cfg, rest).start()
		r.sleep(500 * time.Millisecond)
		r.Resync()
		r.sleep(10 * time.Second)
		r.wantTimes(web, 2*time.Second)
		if n := calls.Load(); n != 2 {
			t.Errorf("%d listings, want 2", n)
		}
		r.halt()
	})
}

func TestAKeyThatIsNoLongerListedIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exists := atomic.Bool{}
		exists.Store(true)
		r := newRig(t, Config{ResyncInterval: time.Minute}, rest)
		r.cfg.List = func(context.Context) ([]Key, error) {
			if exists.Load() {
				return []Key{web}, nil
			}
			return nil, nil
		}
		r.factory = func(_ context.Context, key Key) (Controller, error) {
			if !exists.Load() {
				return nil, nil
			}
			return &worker{key, r.record(rest)}, nil
		}
		r.start()
		r.wantPasses(web, 1)
		exists.Store(false) // and the event of it was lost
		r.sleep(2 * time.Minute)
		if s := r.Stats(); s.Known != 0 {
			t.Errorf("the key is still known: %+v", s)
		}
		r.halt()
	})
}

func TestAListingThatHangsEndsWithItsDeadlineAndWithTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		cfg := Config{Backoff: Backoff{Base: time.Second}, List: func(ctx context.Context) ([]Key, error) {
			calls.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		r := newRig(t, cfg, rest).start()
		r.sleep(listTimeout + 2*time.Second)
		if n := calls.Load(); n != 2 {
			t.Errorf("%d listings, want a second one after the first one's deadline", n)
		}
		began := time.Now()
		r.halt()
		if took := time.Since(began); took > 0 {
			t.Errorf("the engine's end waited %s for a listing", took)
		}
	})
}
