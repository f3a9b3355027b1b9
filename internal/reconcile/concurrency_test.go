package reconcile

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func keys(kind string, n int) []Key {
	out := make([]Key, n)
	for i := range out {
		out[i] = Key{kind, fmt.Sprintf("k%05d", i)}
	}
	return out
}

func TestAKeyNeverRunsTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Workers: 16}, take(10*time.Millisecond)).start()
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				r.sleepAlone(time.Duration(i) * time.Millisecond)
				r.Enqueue(web)
				r.Kick(web)
			})
		}
		wg.Wait()
		r.sleep(time.Second)
		if n := len(r.passes(web)); n < 10 || n > 12 {
			t.Errorf("100 wakeups over 100 ms made %d passes of 10 ms", n)
		}
		r.halt() // fails if any two overlapped
	})
}

// sleepAlone waits without waiting for everybody else.
func (r *rig) sleepAlone(d time.Duration) { sleep(r.t.Context(), d) }

func TestManyKeysRunAtOnceUpToTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Workers: 5}, take(time.Second)).start()
		for _, key := range keys("application", 23) {
			r.Enqueue(key)
		}
		r.sleep(5*time.Second - time.Millisecond)
		if r.most != 5 {
			t.Errorf("%d passes at once, want 5", r.most)
		}
		if s := r.Stats(); s.Running != 3 || s.Ready != 0 {
			t.Errorf("in the fifth round: %+v", s)
		}
		r.sleep(time.Millisecond)
		if s := r.Stats(); s.Running != 0 || s.Known != 23 {
			t.Errorf("after five rounds: %+v", s)
		}
		r.halt()
	})
}

func TestAGroupIsBoundedAndDoesNotHoldUpOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		limits := map[string]int{"slow": 2}
		cfg := Config{
			Workers: 8,
			Group:   func(k Key) string { return k.Kind },
			GroupLimit: func(g string) int {
				mu.Lock()
				defer mu.Unlock()
				return limits[g]
			},
		}
		r := newRig(t, cfg, take(time.Second)).start()
		for _, key := range keys("slow", 10) {
			r.Enqueue(key)
		}
		for _, key := range keys("free", 6) {
			r.Enqueue(key)
		}
		r.sleep(time.Millisecond)
		if s := r.Stats(); s.Running != 8 || s.Blocked != 8 {
			t.Errorf("two of slow and six of free should run: %+v", s)
		}
		r.sleep(time.Second)
		if s := r.Stats(); s.Running != 2 || s.Blocked != 6 {
			t.Errorf("two of slow should run: %+v", s)
		}
		mu.Lock()
		limits["slow"] = 4
		mu.Unlock()
		r.sleep(4 * time.Second)
		if s := r.Stats(); s.Running+s.Blocked != 0 {
			t.Errorf("some still wait for their group: %+v", s)
		}
		if len(r.q.groups) != 0 {
			t.Errorf("%d groups remain with nobody in them", len(r.q.groups))
		}
		r.halt()
	})
}

func TestAGroupsSlotPassesOnWhenItsNextKeyMovesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		moved := false
		a, b, c := Key{"node", "a"}, Key{"node", "b"}, Key{"node", "c"}
		cfg := Config{
			Group: func(k Key) string {
				mu.Lock()
				defer mu.Unlock()
				if moved && k == b {
					return "two"
				}
				return "one"
			},
			GroupLimit: func(string) int { return 1 },
		}
		r := newRig(t, cfg, take(time.Second)).start()
		for _, key := range []Key{a, b, c} {
			r.Enqueue(key)
			synctest.Wait()
		}
		r.sleep(500 * time.Millisecond)
		mu.Lock()
		moved = true
		mu.Unlock()
		r.sleep(10 * time.Second)
		r.wantTimes(b, time.Second)
		r.wantTimes(c, time.Second)
		r.halt()
	})
}

func TestARaisedBoundLetsThoseInThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var limit atomic.Int32
		limit.Store(1)
		cfg := Config{
			Group:      func(Key) string { return "node" },
			GroupLimit: func(string) int { return int(limit.Load()) },
		}
		r := newRig(t, cfg, take(time.Minute)).start()
		all := keys("application", 4)
		for _, key := range all[:3] {
			r.Enqueue(key)
		}
		synctest.Wait()
		limit.Store(3)
		r.Enqueue(all[3]) // its pass is when the new bound is seen
		synctest.Wait()
		if s := r.Stats(); s.Running != 3 || s.Blocked != 1 {
			t.Errorf("three of four should run: %+v", s)
		}
		r.wantPasses(all[3], 0)
		r.halt()
	})
}

// A slot that became free belongs to the next key also before a worker is there
// for it; when that key leaves the line the slot must not leave with it.
func TestASlotHandedToAKeyThatLeavesTheLineIsNotLost(t *testing.T) {
	for name, leave := range map[string]func(q *queue, ent *entry){
		"parked":    func(q *queue, ent *entry) { q.parkKey(ent.key) },
		"forgotten": func(q *queue, ent *entry) { q.forget(ent) },
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue()
			all := keys("application", 3)
			var ents []*entry
			for _, key := range all {
				q.ask(1, key, wakeDesired, laneSoon)
				ents = append(ents, q.claim())
			}
			for i, ent := range ents {
				if runs := q.admit(1, ent, "node", 1); runs != (i == 0) {
					t.Fatalf("key %d runs: %t", i, runs)
				}
			}
			q.settle(2, ents[0], verdict{})
			q.finish(2, ents[0]) // the second key owns the slot now
			leave(q, ents[1])
			third := q.claim()
			if third != ents[2] || !q.admit(3, third, "node", 1) {
				t.Errorf("the third key does not run: %+v", ents[2])
			}
		})
	}
}

func TestAChangeDoesNotStandBehindAResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := keys("application", 100)
		cfg := Config{Workers: 1, List: listOf(all...), ResyncInterval: -1}
		r := newRig(t, cfg, take(time.Second)).start()
		r.sleep(500 * time.Millisecond)
		r.Enqueue(all[90])
		r.Kick(web)
		r.sleep(3 * time.Second)
		r.wantTimes(all[90], time.Second)
		r.wantTimes(web, 2*time.Second)
		r.sleep(2 * time.Minute)
		r.wantPasses(all[90], 1) // its place in the resync was the same place
		r.halt()
	})
}

func TestAResyncDoesNotStarveBehindChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Workers: 1}, take(time.Second)).start()
		r.do(func(now time.Duration) { r.q.ask(now, web, wakeTimed, laneBackground) })
		hot := keys("hot", 3)
		for range 40 {
			for _, key := range hot {
				r.Enqueue(key)
			}
			r.sleep(500 * time.Millisecond)
		}
		if got := r.passes(web); len(got) != 1 || got[0] > (soonInARow+1)*time.Second {
			t.Errorf("the background key ran at %v", got)
		}
		r.halt()
	})
}

func TestTheGroupFunctionMayUseTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, rest)
		r.cfg.GroupLimit = func(string) int { return 1 }
		r.cfg.Group = func(k Key) string {
			if k == web {
				r.Enqueue(db)
			}
			if strings.HasPrefix(k.Name, "d") {
				panic("no such node")
			}
			return "node"
		}
		r.start()
		r.Enqueue(web)
		synctest.Wait()
		r.wantPasses(web, 1)
		r.wantPasses(db, 1)
		r.halt()
	})
}
