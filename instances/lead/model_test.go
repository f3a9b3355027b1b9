package lead_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/lead"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
)

func election(interval, timeout time.Duration) config.Election {
	return config.Election{Interval: config.Duration(interval), Timeout: config.Duration(timeout)}
}

// TestNeverTwoLeadersWhateverGoesWrong lets three servers fail in every way that the
// store, the clock and the scheduler allow, and looks every 50 ms, and at every call of
// the store.
func TestNeverTwoLeadersWhateverGoesWrong(t *testing.T) {
	modes := []storagetest.Mode{storagetest.FailBefore, storagetest.FailAfter, storagetest.HangBefore, storagetest.HangAfter}
	rapid.Check(t, func(rt *rapid.T) {
		type step struct {
			what, who, mode, at int
			wait                time.Duration
		}
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
			return step{
				rapid.IntRange(0, 6).Draw(rt, "what"), rapid.IntRange(0, 2).Draw(rt, "who"),
				rapid.IntRange(0, 3).Draw(rt, "mode"), rapid.IntRange(1, 4).Draw(rt, "at"),
				time.Duration(rapid.IntRange(0, 12000).Draw(rt, "wait")) * time.Millisecond,
			}
		}), 1, 12).Draw(rt, "steps")
		speeds := rapid.SliceOfN(rapid.Float64Range(0.97, 1.03), 3, 3).Draw(rt, "speeds")
		failed := ""
		synctest.Test(t, func(t *testing.T) {
			memory := storage.NewMemory()
			r := &room{t: t, store: memory}
			top := &atomic.Uint64{} // as the records say, also when the lock was deleted
			for i, speed := range speeds {
				s := newServer(t, string(rune('a'+i)), memory, func(o *lead.Options) {
					o.Floor = func(context.Context) (uint64, error) { return top.Load(), nil }
				})
				s.clock.speed, s.top = speed, top
				r.servers = append(r.servers, s)
			}
			for _, s := range r.servers {
				s.start()
			}
			defer r.stop()
			defer func() {
				if t.Failed() {
					failed = "see above"
					t.Logf("speeds %v, steps %v", speeds, steps)
				}
			}()
			for _, one := range steps {
				s := r.servers[one.who]
				switch one.what {
				case 0:
					s.store.Inject(storagetest.Fault{At: one.at, Mode: modes[one.mode]})
				case 1:
					s.store.Inject(storagetest.Fault{At: one.at, Mode: modes[one.mode], Ops: []storagetest.Op{storagetest.OpGet}})
				case 2:
					s.freeze()
				case 3:
					s.thaw()
				case 4:
					s.store.Kill()
				case 5:
					s.store.Revive()
				case 6:
					_ = memory.Delete(context.Background(), "leader.json")
				}
				r.pass(one.wait)
			}
			for _, s := range r.servers {
				s.thaw()
				s.store.Reset()
			}
			r.leader(3 * failover)
		})
		if failed != "" {
			rt.Fatal(failed)
		}
	})
}
