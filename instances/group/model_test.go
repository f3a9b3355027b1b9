package group_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// fault draws one that the provider may have, and a list that lies.
func fault(rt *rapid.T) fake.Fault {
	effects := []fake.Effect{
		fake.Fail, fake.FailAfter, fake.Throttle, fake.NoCapacity, fake.SlowBoot, fake.SlowDelete,
		fake.PartialDelete, fake.Lag, fake.ShiftPages, fake.LieEmpty, fake.LieForeign,
	}
	methods := []string{"", "CreateInstance", "DeleteInstance", "GetInstanceStatus", "ListInstances"}
	f := fake.Fault{
		Do: rapid.SampledFrom(effects).Draw(rt, "effect"), Method: rapid.SampledFrom(methods).Draw(rt, "method"),
		From: rapid.IntRange(1, 3).Draw(rt, "from"), For: time.Duration(rapid.IntRange(1, 120).Draw(rt, "for")) * time.Second,
	}
	f.To = f.From + rapid.IntRange(0, 5).Draw(rt, "length")
	return f
}

func storeFault(rt *rapid.T) storagetest.Fault {
	return storagetest.Fault{
		At:   rapid.IntRange(1, 5).Draw(rt, "at"),
		Mode: rapid.SampledFrom([]storagetest.Mode{storagetest.FailBefore, storagetest.FailAfter}).Draw(rt, "mode"),
		Ops:  rapid.SampledFrom([][]storagetest.Op{nil, {storagetest.OpGet}, {storagetest.OpList}}).Draw(rt, "ops"),
	}
}

// draw is a step that a model takes.
type draw func(rt *rapid.T, w *world)

// troubles are the steps after which nothing is to be otherwise than before.
func troubles() map[string]draw {
	return map[string]draw{
		"passes":       func(rt *rapid.T, w *world) { w.passes(rapid.IntRange(1, 40).Draw(rt, "n")) },
		"provider":     func(rt *rapid.T, w *world) { w.cloud.Script(fault(rt)) },
		"store":        func(rt *rapid.T, w *world) { w.faulty.Inject(storeFault(rt)) },
		"config away":  func(_ *rapid.T, w *world) { w.source.failing = true; w.refresh() },
		"config there": func(_ *rapid.T, w *world) { w.source.failing = false; w.refresh() },
		"leader":       func(_ *rapid.T, w *world) { w.source.failing = false; w.restart() },
		"silence": func(rt *rapid.T, w *world) { // shorter than counts
			id := w.pick(rt)
			w.nodes.mute[id] = true
			w.passes(rapid.IntRange(1, 12).Draw(rt, "n"))
			delete(w.nodes.mute, id)
			w.passes(1)
		},
	}
}

// changes are steps after which machines are made and removed.
func changes() map[string]draw {
	return map[string]draw{
		"size":   func(rt *rapid.T, w *world) { w.source.size = rapid.IntRange(0, 4).Draw(rt, "size"); w.refresh() },
		"drift":  func(_ *rapid.T, w *world) { w.source.kind += "x"; w.refresh() },
		"absent": func(rt *rapid.T, w *world) { w.source.absent = rapid.Bool().Draw(rt, "absent"); w.refresh() },
		"vanish": func(rt *rapid.T, w *world) { w.cloud.Vanish(w.pick(rt)) },
		"stop":   func(rt *rapid.T, w *world) { w.cloud.SetStatus(w.pick(rt), infra.StatusStopped) },
		"mute":   func(rt *rapid.T, w *world) { w.nodes.mute[w.pick(rt)] = true },
		"dull":   func(rt *rapid.T, w *world) { w.nodes.dull["*"] = rapid.Bool().Draw(rt, "dull") },
		"busy":   func(rt *rapid.T, w *world) { w.nodes.busy = rapid.Bool().Draw(rt, "busy") },
		"hold":   func(rt *rapid.T, w *world) { w.nodes.holds[w.pick(rt)] = "a volume" },
		"notice": func(rt *rapid.T, w *world) {
			id := w.pick(rt)
			if s, ok := w.nodes.signs[id]; ok {
				s.Noticed, s.NoticeAt = true, w.clock.Now().Add(2*time.Minute)
				w.nodes.signs[id] = s
			}
		},
	}
}

// pick is a member, or nobody.
func (w *world) pick(rt *rapid.T) string {
	all := append(w.members(), "nobody")
	return all[rapid.IntRange(0, len(all)-1).Draw(rt, "member")]
}

func (w *world) passes(n int) {
	for range n {
		w.pass()
	}
}

// restart is a new leader; one that cannot begin tries again.
func (w *world) restart() {
	w.faulty.Reset()
	w.start()
	w.watch()
}

// watch fails when a machine is made although enough are there, or twice.
func (w *world) watch() {
	w.cloud.OnCall(func(_ context.Context, call fake.Call) error {
		if call.Method != "CreateInstance" || call.After {
			return nil
		}
		alive := map[string]bool{call.InstanceID: true}
		for _, one := range w.own() {
			alive[one.InstanceID] = true
		}
		size := w.source.size
		if conf := w.l.loader.Current(); conf != nil {
			g, ok := conf.Groups["acme"]["web"]
			if size = 0; ok && g.Size != nil {
				size = *g.Size
			}
		}
		count := 0
		for _, id := range w.members() {
			if alive[id] && !w.nodes.signs[id].Noticed {
				count++
			}
		}
		if count > size+1 {
			w.t.Errorf("%s is made, and then there are %d; %d are wanted", call.InstanceID, count, size)
		}
		return nil
	})
}

// heal ends all that is wrong.
func (w *world) heal() {
	w.cloud.ClearFaults()
	w.faulty.Reset()
	w.source.failing, w.source.absent = false, false
	clear(w.nodes.holds)
	clear(w.nodes.dull)
	w.nodes.busy = false
	w.refresh()
}

func steps(rt *rapid.T, sets ...map[string]draw) []draw {
	var names []string
	all := map[string]draw{}
	for _, set := range sets {
		for name, f := range set {
			all[name] = f
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var picked []draw
	for range rapid.IntRange(1, 20).Draw(rt, "steps") {
		picked = append(picked, all[rapid.SampledFrom(append(names, "passes")).Draw(rt, "step")])
	}
	return picked
}

// check runs a model whose world reports to rapid.
func check(t *testing.T, f func(rt *rapid.T, w *world)) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, 3)
		w.t = both{t, rt}
		w.start()
		w.watch()
		f(rt, w)
		_ = w.l.db.Close()
	})
}

// both is a test's TB whose failures are rapid's, so that it can make them smaller.
type both struct {
	testing.TB
	rt *rapid.T
}

func (b both) Helper()                      {}
func (b both) Errorf(f string, args ...any) { b.rt.Errorf(f, args...) }
func (b both) Error(args ...any)            { b.rt.Error(args...) }
func (b both) Fatalf(f string, args ...any) { b.rt.Fatalf(f, args...) }
func (b both) Fatal(args ...any)            { b.rt.Fatal(args...) }

// TestWhateverGoesWrongNoMachineThatLivesIsRemoved lets provider, store, configuration
// and leader fail under a group of which nothing else is wanted.
func TestWhateverGoesWrongNoMachineThatLivesIsRemoved(t *testing.T) {
	t.Parallel()
	check(t, func(rt *rapid.T, w *world) {
		w.run(2 * time.Minute)
		before := w.members()
		for _, step := range steps(rt, troubles()) {
			step(rt, w)
			if now := w.members(); !slices.Equal(now, before) {
				rt.Fatalf("%v became %v", before, now)
			}
		}
		w.heal()
		w.passes(30)
		w.stable()
		if !slices.Equal(w.members(), before) || w.made() != 3 {
			rt.Fatalf("%v became %v, %d were made", before, w.members(), w.made())
		}
	})
}

// TestAGroupComesToRestAfterTheLastFault does everything that an operator, a provider
// and a machine can do, and then nothing.
func TestAGroupComesToRestAfterTheLastFault(t *testing.T) {
	t.Parallel()
	most := 0
	check(t, func(rt *rapid.T, w *world) {
		for _, step := range steps(rt, troubles(), changes()) {
			step(rt, w)
		}
		w.heal()
		w.converge()
		most = max(most, w.l.acting)
		if got := w.reason(reconcile.ConditionReady); got != group.ReasonReady && w.source.size > 0 {
			w.run(5 * time.Minute)
			if got = w.reason(reconcile.ConditionReady); got != group.ReasonReady {
				rt.Fatal(w.conditions())
			}
		}
	})
	t.Logf("at rest after at most %d acting passes", most)
}
