package lead_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/instances/lead"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
)

// failover is what the package promises with the default timing.
const failover = 15 * time.Second

func TestTheFirstServerOfANewShardLeadsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t, storage.NewMemory(), 1)
		defer r.stop()
		if _, took := r.leader(time.Second); took > 100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

func TestOneOfSeveralLeadsAndStays(t *testing.T) {
	directory, err := storage.OpenDirectory(t.TempDir())
	must(t, err)
	t.Cleanup(func() { _ = directory.Close() })
	for name, store := range map[string]storage.Storage{"memory": storage.NewMemory(), "directory": directory} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRoom(t, store, 3)
				defer r.stop()
				first, _ := r.leader(failover)
				r.pass(2 * time.Minute)
				if r.look() != first || r.most != 1 {
					t.Errorf("the leader changed: term %d", r.most)
				}
				for _, s := range r.servers {
					seen, ok := s.e.Leader()
					if !ok || seen.Holder != first.name || seen.Term != 1 || seen.Self != (s == first) {
						t.Errorf("%s sees %+v", s.name, seen)
					}
				}
			})
		})
	}
}

func TestAKilledHolderIsFollowedInTime(t *testing.T) {
	for _, after := range []time.Duration{time.Minute, time.Minute + 2*time.Second, time.Minute + 4900*time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			r := newRoom(t, storage.NewMemory(), 3)
			defer r.stop()
			r.leader(failover)
			r.pass(after)
			first := r.look()
			first.store.Kill()
			_, took := r.leader(failover, first)
			t.Logf("failover took %v", took)
			if first.leads() {
				t.Error("the killed one leads still")
			}
			r.pass(time.Minute)
			if r.most != 2 {
				t.Errorf("term %d, want 2", r.most)
			}
		})
	}
}

func TestAnOrderlyStopHandsOverAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t, storage.NewMemory(), 2)
		defer r.stop()
		first, _ := r.leader(failover)
		r.pass(time.Minute)
		first.cancel()
		if _, took := r.leader(failover, first); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestWorkThatStillEndsIsDoneUnderTheLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t, storage.NewMemory(), 2)
		defer r.stop()
		for _, s := range r.servers {
			s.does(func(ctx context.Context) error {
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), lead.ErrStopped) {
					return context.Cause(ctx)
				}
				<-time.After(9 * time.Second) // longer than a lease
				if !s.leads() {
					t.Errorf("%s lost the lead while its work ended", s.name)
				}
				return nil
			})
		}
		first, _ := r.leader(failover)
		r.pass(10 * time.Second)
		first.cancel()
		r.leader(failover, first)
	})
}

func TestAStoppedHolderThatWakesHasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t, storage.NewMemory(), 2)
		defer r.stop()
		first, _ := r.leader(failover)
		r.pass(20 * time.Second)
		first.freeze()
		second, _ := r.leader(failover+5*time.Second, first)
		r.pass(time.Minute)
		first.thaw()
		if first.leads() {
			t.Error("it leads after its sleep")
		}
		r.pass(time.Minute)
		if r.look() != second {
			t.Error("the one that woke took the lead back")
		}
	})
}

func TestAStoreThatIsAwayEndsTheLeadAndNobodyTakesIt(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRoom(t, storage.NewMemory(), 2)
			defer r.stop()
			first, _ := r.leader(failover)
			r.pass(10 * time.Second)
			for _, s := range r.servers {
				s.store.Before(func(ctx context.Context, _ storagetest.Call) error {
					if hangs {
						<-ctx.Done()
						return ctx.Err()
					}
					return storage.ErrUnavailable
				})
			}
			r.pass(9 * time.Second)
			if first.leads() {
				t.Error("it leads without a renewal")
			}
			r.pass(5 * time.Minute)
			if r.look() != nil {
				t.Error("somebody leads without a store")
			}
			for _, s := range r.servers {
				s.store.Reset()
			}
			r.leader(failover)
		})
	}
}

func TestAnAnswerThatIsLostCostsNothing(t *testing.T) {
	for _, mode := range []storagetest.Mode{storagetest.FailAfter, storagetest.FailBefore, storagetest.HangAfter, storagetest.HangBefore} {
		synctest.Test(t, func(t *testing.T) {
			r := newRoom(t, storage.NewMemory(), 2)
			defer r.stop()
			first, _ := r.leader(failover)
			for range 6 {
				first.store.Inject(storagetest.Fault{At: 1, Mode: mode})
				r.pass(20 * time.Second)
			}
			if r.look() != first || r.most != 1 {
				t.Errorf("mode %d: term %d", mode, r.most)
			}
		})
	}
}

// refusing is a store whose client tried a second time on its own: the write was made,
// and the answer is that of the second one.
type refusing struct {
	*storagetest.Faulty
}

func (s refusing) PutIfMatch(ctx context.Context, key string, data []byte, tag string) (string, error) {
	newTag, err := s.Faulty.PutIfMatch(ctx, key, data, tag)
	if err == nil && key == lead.DefaultKey {
		return "", storage.ErrPrecondition
	}
	return newTag, err
}

func TestAWriteThatWasMadeAndIsCalledRefusedCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := storage.NewMemory()
		r := newRoom(t, memory, 2, func(o *lead.Options) {
			o.Storage = refusing{storagetest.NewFaulty(memory)}
		})
		defer r.stop()
		r.pass(time.Minute)
		// A takeover that was made is seen at the next look, and its own session's
		// object is taken at once, for ever: nobody leads, and never two.
		if r.look() != nil && r.most == 0 {
			t.Error("somebody leads in no term")
		}
	})
}

// careless is a store that writes whatever the condition.
type careless struct{ storage.Storage }

func (s careless) PutIfMatch(ctx context.Context, key string, data []byte, _ string) (string, error) {
	return s.Put(ctx, key, data)
}

func TestAStoreThatDoesNotHeedConditionsIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "a", careless{storage.NewMemory()})
		err := s.e.Run(t.Context(), s.lead)
		if !errors.Is(err, lead.ErrNoConditions) || len(s.terms) > 0 {
			t.Errorf("error %v, terms %v", err, s.terms)
		}
	})
}

func TestClocksThatAreWrongChangeNothing(t *testing.T) {
	for _, wrong := range []func(a, b *clock){
		func(a, b *clock) { a.offset, b.offset = 10*time.Hour, -10*time.Hour },
		func(a, b *clock) { a.offset, b.offset = -10*time.Hour, 10*time.Hour },
		func(a, b *clock) { a.speed, b.speed = 0.99, 1.01 },
		func(a, b *clock) { a.speed, b.speed = 1.01, 0.99 },
	} {
		synctest.Test(t, func(t *testing.T) {
			memory := storage.NewMemory()
			r := &room{t: t, store: memory, servers: []*server{newServer(t, "a", memory), newServer(t, "b", memory)}}
			wrong(r.servers[0].clock, r.servers[1].clock)
			for _, s := range r.servers {
				s.start()
			}
			defer r.stop()
			first, _ := r.leader(failover)
			r.pass(2 * time.Minute)
			if r.look() != first {
				t.Fatal("the leader changed")
			}
			first.store.Kill()
			r.leader(failover, first)
		})
	}
}

func TestAMachineThatSleptDoesNotLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t, storage.NewMemory(), 1)
		defer r.stop()
		only, _ := r.leader(failover)
		r.pass(7 * time.Second)
		only.clock.jump(time.Minute) // what the wall's clock shows after a sleep
		if only.leads() {
			t.Error("it leads after a minute without a renewal")
		}
		r.leader(failover)
	})
}

func TestADeletedLockDeposesAndIsNotTakenTooSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := storage.NewMemory()
		r := newRoom(t, memory, 3, func(o *lead.Options) {
			o.Floor = func(context.Context) (uint64, error) { return 41, nil }
		})
		defer r.stop()
		r.leader(failover)
		r.pass(3 * time.Second)
		must(t, memory.Delete(t.Context(), lead.DefaultKey))
		r.pass(6 * time.Second)
		r.leader(2 * failover)
		if r.most != 44 { // 42 was the first one, at a floor of 41; 43 stood for the missing object
			t.Errorf("term %d", r.most)
		}
	})
}

func TestAnUnreadableLockIsNobodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := storage.NewMemory()
		_, err := memory.Put(t.Context(), lead.DefaultKey, []byte("{"))
		must(t, err)
		r := newRoom(t, memory, 2)
		defer r.stop()
		r.pass(5 * time.Minute)
		if r.look() != nil {
			t.Error("somebody leads by an object that cannot be read")
		}
	})
}

func TestWorkThatFailsGivesTheOthersAChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t, storage.NewMemory(), 2)
		defer r.stop()
		first, _ := r.leader(failover)
		first.does(func(context.Context) error { return errors.New("no cache") })
		first.store.Kill() // loses this reign
		second, _ := r.leader(failover, first)
		first.store.Revive()
		r.pass(20 * time.Second)
		second.store.Kill()
		r.pass(14 * time.Second) // the first one led, failed, and let go
		second.store.Revive()
		got, took := r.leader(failover, first)
		if got != second || len(first.terms) < 2 {
			t.Errorf("%s leads after %v; the first one led in %v", got.name, took, first.terms)
		}
	})
}

func TestWorkThatDoesNotEndIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, "a", storage.NewMemory())
		stuck := make(chan struct{})
		s.does(func(context.Context) error { <-stuck; return nil })
		s.start()
		<-time.After(time.Second)
		s.store.Kill()
		if err := <-s.done; !errors.Is(err, lead.ErrStuck) {
			t.Errorf("error %v", err)
		}
		if s.leads() {
			t.Error("it leads")
		}
		close(stuck)
		synctest.Wait()
		s.cancel()
		if err := s.e.Run(t.Context(), s.lead); !errors.Is(err, lead.ErrRunTwice) {
			t.Errorf("error %v", err)
		}
	})
}

func TestTheLockSaysWhoLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := storage.NewMemory()
		r := newRoom(t, memory, 1)
		r.leader(failover)
		r.stop()
		data, _, err := memory.Get(t.Context(), lead.DefaultKey)
		must(t, err)
		var l map[string]any
		must(t, json.Unmarshal(data, &l))
		if l["holder"] != "a" || l["term"] != 1.0 || l["released"] != true || l["timeout_ms"] != 15000.0 {
			t.Errorf("%s", data)
		}
	})
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for _, o := range []lead.Options{
		{Holder: "a"}, {Storage: storage.NewMemory()},
		{Storage: storage.NewMemory(), Holder: "a", Election: election(5*time.Second, 5*time.Second)},
	} {
		if _, err := lead.New(o); !errors.Is(err, lead.ErrOptions) {
			t.Errorf("error %v", err)
		}
	}
}

func TestATakeoverWhoseAnswerIsLostIsFoundAtTheNextLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := storage.NewMemory()
		s := newServer(t, "a", memory)
		r := &room{t: t, store: memory, servers: []*server{s}}
		s.store.Inject(storagetest.Fault{At: 4, Mode: storagetest.FailAfter}) // after the marker's three
		s.start()
		defer r.stop()
		if _, took := r.leader(failover); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestWhoMadeTheMarkerWaitsOnceAnybodyHasLed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := storage.NewMemory()
		a, b := newServer(t, "a", memory), newServer(t, "b", memory)
		r := &room{t: t, store: memory, servers: []*server{a, b}}
		gate := make(chan struct{})
		a.store.Before(func(_ context.Context, c storagetest.Call) error {
			if c.Op == storagetest.OpGet {
				<-gate
			}
			return nil
		})
		a.start()
		synctest.Wait() // the marker is made
		b.start()
		defer r.stop()
		if first, _ := r.leader(failover); first != b {
			t.Fatal("the one that is stopped leads")
		}
		close(gate)
		r.pass(11 * time.Second)
		must(t, memory.Delete(t.Context(), lead.DefaultKey))
		r.pass(30 * time.Second)
	})
}
