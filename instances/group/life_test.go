package group_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// settled is a world with a group that is as it should be.
func settled(t testing.TB, size int, opts ...func(*fake.Options)) *world {
	t.Helper()
	w := newWorld(t, size, opts...)
	w.start()
	w.run(2 * time.Minute)
	w.stable()
	if w.reason(reconcile.ConditionReady) != group.ReasonReady || w.reason(group.ConditionUpToDate) != group.ReasonCurrent {
		t.Fatal(w.conditions())
	}
	return w
}

func TestAGroupComesToItsSize(t *testing.T) {
	t.Parallel()
	w := settled(t, 3)
	calls := w.cloud.Calls("CreateInstance") + w.cloud.Calls("GetInstanceStatus")
	w.run(time.Hour)
	w.stable()
	if w.made() != 3 {
		t.Errorf("%d machines were made", w.made())
	}
	if now := w.cloud.Calls("CreateInstance") + w.cloud.Calls("GetInstanceStatus"); now != calls {
		t.Errorf("a group at rest asked the provider %d times", now-calls)
	}
}

func TestScalingDownDrainsTheOldest(t *testing.T) {
	t.Parallel()
	w := settled(t, 3)
	before := w.members()
	w.source.size = 1
	w.refresh()
	w.run(3 * time.Minute)
	w.stable()
	if !slices.Equal(w.members(), before[2:]) || !slices.Equal(w.nodes.order, before[:2]) {
		t.Errorf("of %v there is %v, drained were %v", before, w.members(), w.nodes.order)
	}
}

func TestADrainThatDoesNotEndEnds(t *testing.T) {
	t.Parallel()
	w := settled(t, 2)
	w.nodes.busy = true
	w.source.size = 1
	w.refresh()
	w.run(50 * time.Second)
	if len(w.members()) != 2 {
		t.Error("a machine went before it was drained")
	}
	w.run(2 * time.Minute)
	w.stable()
}

func TestAChangeRotatesOneAfterAnother(t *testing.T) {
	t.Parallel()
	w := settled(t, 3)
	before := w.members()
	w.source.kind = "s2"
	w.refresh()
	for range 200 {
		w.pass()
		w.bound()
		if alive := len(w.own()); alive > 4 {
			t.Fatalf("%d machines at once", alive)
		}
	}
	w.stable()
	if !slices.Equal(w.nodes.order, before) || w.made() != 6 {
		t.Errorf("drained %v of %v, %d made", w.nodes.order, before, w.made())
	}
}

func TestAMachineThatHoldsDataIsNotRotatedAndSaysWhy(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"volume db of app shop", "error"} {
		w := settled(t, 2)
		id := w.members()[0]
		w.nodes.holds[id] = reason
		w.source.kind = "s2"
		w.refresh()
		w.run(15 * time.Minute)
		if !slices.Contains(w.members(), id) || len(w.members()) != 2 || w.reason(group.ConditionUpToDate) != group.ReasonHeld {
			t.Fatalf("%v: %s", w.members(), w.conditions())
		}
		delete(w.nodes.holds, id)
		w.run(5 * time.Minute)
		w.stable()
	}
}

func TestAFailedReplacementIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := settled(t, 2)
	before := w.members()
	w.source.kind = "s2"
	w.nodes.dull["*"] = true
	w.refresh()
	w.run(30 * time.Minute)
	if got := w.members(); !slices.Contains(got, before[0]) || !slices.Contains(got, before[1]) {
		t.Fatal("a machine went whose replacement never came")
	}
	if w.reason(group.ConditionLaunching) != group.ReasonBackingOff {
		t.Error(w.conditions())
	}
	delete(w.nodes.dull, "*")
	w.run(25 * time.Minute)
	w.stable()
}

func TestOldMachinesAreReplacedOneAfterAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.source.expiry = `"expiry": {"eligible_age": "10h", "forced_age": "20h"},`
	w.start()
	w.run(2 * time.Minute)
	before := w.members()
	w.clock.Advance(9 * time.Hour)
	w.run(50 * time.Minute)
	if w.made() != 2 {
		t.Error("they were replaced too soon")
	}
	w.run(30 * time.Minute)
	w.stable()
	if !slices.Equal(w.nodes.order, before) || w.made() != 4 {
		t.Errorf("drained %v of %v", w.nodes.order, before)
	}
}

func TestASilentMachineIsReplacedThenDrained(t *testing.T) {
	t.Parallel()
	w := settled(t, 2)
	id := w.members()[0]
	w.nodes.mute[id] = true
	w.run(2 * time.Minute)
	if w.made() != 2 {
		t.Error("it was replaced before it had missed three signs")
	}
	w.run(5 * time.Minute)
	w.stable()
	if !slices.Equal(w.nodes.order, []string{id}) || w.made() != 3 {
		t.Errorf("drained %v, made %d", w.nodes.order, w.made())
	}
}

func TestAMachineThatWasTakenAwayIsReplaced(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(*world, string){
		"vanished": func(w *world, id string) { w.cloud.Vanish(id) },
		"stopped":  func(w *world, id string) { w.cloud.SetStatus(id, infra.StatusStopped) },
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t, 3)
			id := w.members()[1]
			take(w, id)
			w.run(6 * time.Minute)
			w.stable()
			if slices.Contains(w.members(), id) || w.made() != 4 {
				t.Errorf("%v, made %d", w.members(), w.made())
			}
		})
	}
}

// Two short silences with life between them are not one long one, whenever the group is
// looked at.
func TestShortSilencesDoNotAddUp(t *testing.T) {
	t.Parallel()
	w := settled(t, 3)
	before := w.members()
	for between := range 40 {
		if inBrief() && between%9 != 8 {
			continue
		}
		w.refresh() // something else wakes the group
		for _, passes := range []int{1 + between, 60} {
			w.nodes.mute[before[0]] = true
			w.passes(1)
			delete(w.nodes.mute, before[0])
			w.passes(passes)
		}
	}
	w.stable()
	if w.made() != 3 || !slices.Equal(before, w.members()) {
		t.Errorf("%v became %v, and %d machines were made", before, w.members(), w.made())
	}
}

func TestANoticeActsAtOnce(t *testing.T) {
	t.Parallel()
	w := settled(t, 2)
	id := w.members()[0]
	w.nodes.signs[id] = group.Sign{HeardAt: w.clock.Now(), Noticed: true, NoticeAt: w.clock.Now().Add(2 * time.Minute)}
	w.l.due = map[reconcile.Key]time.Time{}
	w.pass()
	if w.made() != 3 || !slices.Equal(w.nodes.order, []string{id}) {
		t.Errorf("made %d, drained %v", w.made(), w.nodes.order)
	}
	w.run(2 * time.Minute)
	w.stable()
}

func TestAConfigurationThatCannotBeReadChangesNothing(t *testing.T) {
	t.Parallel()
	w := settled(t, 3)
	w.source.failing = true
	w.refresh()
	w.run(10 * time.Minute)
	w.source.failing, w.source.absent = false, true
	w.l.due = map[reconcile.Key]time.Time{}
	w.run(10 * time.Minute)
	if len(w.members()) != 3 {
		t.Fatal("machines went")
	}
	w.refresh() // now it says so
	w.run(5 * time.Minute)
	w.stable()
	if len(w.nodes.order) != 3 {
		t.Errorf("drained %v", w.nodes.order)
	}
	if keys, err := w.l.groups.List(t.Context()); err != nil || len(keys) != 1 {
		t.Errorf("%v, %v", keys, err)
	}
}

func TestAListThatLiesRemovesNobody(t *testing.T) {
	t.Parallel()
	w := settled(t, 3)
	before := w.members()
	w.cloud.Script(
		fake.Fault{Method: "ListInstances", Do: fake.LieEmpty, From: 1, To: -1},
		fake.Fault{Method: "GetInstanceStatus", Do: fake.LieNotFound, From: 1, To: -1},
	)
	w.run(2 * time.Hour)
	w.cloud.ClearFaults()
	w.run(time.Minute)
	w.stable()
	if !slices.Equal(before, w.members()) || w.made() != 3 {
		t.Errorf("%v became %v", before, w.members())
	}
}

func TestANewLeaderRotatesAndMakesNothing(t *testing.T) {
	t.Parallel()
	w := settled(t, 3)
	before := w.members()
	for range 3 {
		w.clock.Advance(10 * time.Minute) // nobody led, nobody was heard of
		clear(w.nodes.signs)
		w.start()
		w.run(10 * time.Minute)
	}
	w.stable()
	if !slices.Equal(before, w.members()) || w.made() != 3 || len(w.nodes.order) > 0 {
		t.Errorf("%v became %v", before, w.members())
	}
}

func TestANewLeaderGoesOnWithARotation(t *testing.T) {
	t.Parallel()
	for passes := range 40 {
		if inBrief() && passes%13 != 3 {
			continue
		}
		w := settled(t, 2)
		before := w.members()
		w.source.kind = "s2"
		w.refresh()
		for range passes {
			w.pass()
		}
		w.start()
		w.run(8 * time.Minute)
		w.stable()
		if w.made() != 4 || !slices.Equal(dedup(w.nodes.order), before) {
			t.Errorf("after %d passes: made %d, drained %v of %v", passes, w.made(), w.nodes.order, before)
		}
	}
}

func dedup(all []string) []string {
	var one []string
	for _, s := range all {
		if !slices.Contains(one, s) {
			one = append(one, s)
		}
	}
	return one
}

func TestOnDemandMachinesAreNeitherCountedNorReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.source.expiry = `"expiry": {"ondemand_age": "1h"},`
	w.start()
	made, err := w.l.CreateInstance(t.Context(), instances.CreateInstanceRequest{Tenant: "acme", Group: "web", OnDemand: true})
	must(t, err)
	w.run(2 * time.Minute)
	if len(w.own()) != 2 {
		t.Fatalf("%d machines", len(w.own()))
	}
	w.source.kind = "s2"
	w.refresh()
	w.run(5 * time.Minute)
	if len(w.own()) != 2 || w.made() != 3 {
		t.Errorf("%d machines, %d made", len(w.own()), w.made())
	}
	w.run(70 * time.Minute)
	w.stable()
	if !slices.Contains(w.nodes.order, made.InstanceID) || w.made() != 3 {
		t.Errorf("drained %v, made %d", w.nodes.order, w.made())
	}
}

func TestAGroupThatCannotBeMadeIsTriedLessAndLess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.start()
	w.cloud.Script(fake.Fault{Method: "CreateInstance", Do: fake.NoCapacity, From: 1, To: -1})
	w.run(30 * time.Minute)
	if n := w.cloud.Calls("CreateInstance"); n < 10 || n > 25 {
		t.Errorf("%d tries in half an hour", n)
	}
	if w.reason(group.ConditionLaunching) != group.ReasonBackingOff {
		t.Error(w.conditions())
	}
	w.cloud.ClearFaults()
	w.run(5 * time.Minute)
	w.stable()
}

func TestTheProviderIsGivenTheTimeItAsksFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.start()
	w.cloud.Script(fake.Fault{Method: "CreateInstance", Do: fake.Throttle, For: 4 * time.Minute})
	w.run(3 * time.Minute)
	if n := w.cloud.Calls("CreateInstance"); n != 1 {
		t.Errorf("%d tries", n)
	}
	w.run(4 * time.Minute)
	w.stable()
}

func TestAnAskedRotationHappens(t *testing.T) {
	t.Parallel()
	w := settled(t, 2)
	id := w.members()[1]
	w.l.groups.Rotate("acme", "web", id)
	w.run(3 * time.Minute)
	w.stable()
	if !slices.Equal(w.nodes.order, []string{id}) || w.made() != 3 {
		t.Errorf("drained %v, made %d", w.nodes.order, w.made())
	}
}

func TestCreatesAreSpacedWithoutWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	w.source.timings = `"create_interval": "30s",`
	w.start()
	for range 30 {
		w.pass()
		if most := 1 + int(w.clock.Now().Sub(fake.NewClock(time.Time{}).Now())/(30*time.Second)); w.made() > most {
			t.Fatalf("%d machines, at most %d", w.made(), most)
		}
	}
	w.stable()
}

func TestAMachineThatIsNotInTheCacheIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	l := w.start()
	w.pass()
	id := w.members()[0]
	must(t, l.db.ReplaceInstances(context.Background(), nil))
	for range 12 {
		w.pass()
	}
	if w.made() != 1 {
		t.Errorf("%d were made beside %s", w.made(), id)
	}
}

func TestADrainOfAnEarlierTermRemovesNobody(t *testing.T) {
	t.Parallel()
	w := settled(t, 2)
	before := w.members()
	must(t, w.l.db.StartDrain(t.Context(), before[0], w.clock.Now().Add(-time.Hour)))
	w.run(10 * time.Minute)
	w.stable()
	if !slices.Equal(before, w.members()) {
		t.Errorf("%v became %v", before, w.members())
	}
}

func TestARegistrationThatTheCacheMissedIsNotTakenForNone(t *testing.T) {
	t.Parallel()
	w := settled(t, 1)
	rows, err := w.l.db.Instances(t.Context(), localdb.Query{})
	must(t, err)
	rows[0].RegisteredAt, rows[0].PublicKey = time.Time{}, ""
	must(t, w.l.db.ReplaceInstances(t.Context(), rows))
	w.run(20 * time.Minute)
	w.stable()
	if w.made() != 1 {
		t.Errorf("%d were made", w.made())
	}
}

func TestADeletedMachineInTheCacheHoldsNothingUp(t *testing.T) {
	t.Parallel()
	w := settled(t, 2)
	rows, err := w.l.db.Instances(t.Context(), localdb.Query{})
	must(t, err)
	w.source.size = 1
	w.refresh()
	w.run(3 * time.Minute)
	must(t, w.l.db.ReplaceInstances(t.Context(), rows)) // as before the deletion
	w.source.kind = "s2"
	w.refresh()
	w.run(8 * time.Minute)
	w.stable()
}

func TestAMachineThatIsSaidToBeGoneOnceStays(t *testing.T) {
	t.Parallel()
	w := settled(t, 2)
	before := w.members()
	w.nodes.mute[before[0]] = true
	w.cloud.Script(fake.Fault{Method: "GetInstanceStatus", Do: fake.LieNotFound})
	asked := w.cloud.Calls("GetInstanceStatus")
	for range 60 {
		w.pass()
		if w.cloud.Calls("GetInstanceStatus") > asked {
			break
		}
	}
	delete(w.nodes.mute, before[0])
	w.run(10 * time.Minute)
	w.stable()
	if !slices.Equal(before, w.members()) || w.cloud.Calls("GetInstanceStatus") == asked {
		t.Errorf("%v became %v", before, w.members())
	}
}

func TestAnAbsenceThatIsDoubtfulChangesNothing(t *testing.T) {
	t.Parallel()
	w := settled(t, 2)
	w.source.absent = true
	w.refresh()
	w.source.failing = true // the group may be in what cannot be read now
	w.refresh()
	w.run(10 * time.Minute)
	if len(w.members()) != 2 || len(w.nodes.order) > 0 {
		t.Fatalf("machines went: drained %v", w.nodes.order)
	}
	if w.reason(reconcile.ConditionReady) != group.ReasonUnknown {
		t.Error(w.conditions())
	}
}

func TestANoticeIsNotForgottenWithItsConnection(t *testing.T) {
	t.Parallel()
	w := settled(t, 2)
	id := w.members()[0]
	w.nodes.busy = true // its drain takes a while
	w.nodes.signs[id] = group.Sign{HeardAt: w.clock.Now(), Noticed: true}
	clear(w.l.due)
	w.pass()
	w.nodes.signs[id] = group.Sign{HeardAt: w.clock.Now()}
	w.run(3 * time.Minute)
	w.stable()
	if slices.Contains(w.members(), id) || w.made() != 3 {
		t.Errorf("%v, made %d", w.members(), w.made())
	}
}
