package application

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/store/sqlite/sqlitetest"
)

// fastDir is a directory whose syncs cost little, where the machine has one.
func fastDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "berth-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func startRig(t *testing.T) *rig {
	t.Helper()
	raceSample(t)
	return newRig(t, sqlitetest.OpenDir(t, fastDir(t)), "shop", "web")
}

func TestFirstDeployServesAndTheNextTakesOver(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	if got := r.ready(); got.Status != reconcile.True || got.Reason != string(ReasonDeployed) {
		t.Fatalf("after the first deploy: %+v; %s", got, r.describe())
	}
	if a := r.attempt(); a.State != store.AttemptSucceeded || a.ReleaseID != "shop-web-v1" {
		t.Fatalf("attempt %+v", a)
	}
	first := r.running()
	r.apply(r.spec("good:2"))
	r.settle(20, time.Minute)
	if got := r.running(); len(got) != 1 || got[0] == first[0] {
		t.Fatalf("running %v, was %v: one new container should run alone", got, first)
	}
	if a := r.attempt(); a.State != store.AttemptSucceeded {
		t.Fatalf("attempt %+v", a)
	}
}

func TestAFailedChangeLeavesTheOldReleaseServingAndSaysWhy(t *testing.T) {
	for image, want := range map[string]struct {
		reason Reason
		text   string
	}{
		"exits:1":   {ReasonExited, "exited with code 3"},
		"oom:1":     {ReasonOOMKilled, "memory"},
		"500:1":     {ReasonReadinessFailed, "answered 500"},
		"never:1":   {ReasonReadinessFailed, "not ready within 10s"},
		"other:1":   {ReasonReadinessFailed, "not ready within 10s"},
		"unknown:1": {ReasonImageNotFound, "neither on the engine nor in its registry"},
		"cannot:1":  {ReasonStartFailed, "no such file"},
	} {
		t.Run(image, func(t *testing.T) {
			r := startRig(t)
			r.apply(r.spec("good:1"))
			r.settle(20, time.Minute)
			before := r.running()
			r.apply(r.spec(image))
			r.settle(40, 2*time.Minute)
			if got := r.running(); len(got) != 1 || got[0] != before[0] {
				t.Fatalf("running %v, want the old %v", got, before)
			}
			a := r.attempt()
			if a.State != store.AttemptFailed || a.Reason != string(want.reason) || !strings.Contains(a.Message, want.text) {
				t.Fatalf("attempt %s %s: %s", a.State, a.Reason, a.Message)
			}
			if got := r.ready(); got.Status != reconcile.True || got.Reason != string(ReasonPreviousServing) {
				t.Fatalf("condition %+v", got)
			}
			if len(r.engine.Containers()) != 1 {
				t.Fatalf("left over: %s", r.describe())
			}
		})
	}
}

func TestTheLastLinesOfAFailedContainerAreInTheMessage(t *testing.T) {
	for image, line := range map[string]string{"exits:1": "cannot find config", "other:1": "listening on 9999"} {
		r := startRig(t)
		r.apply(r.spec(image))
		for range 200 { // until it failed, and not on to a second try
			r.pass()
			r.sync()
			if r.attempt().State.Final() {
				break
			}
			r.clock.Advance(100 * time.Millisecond)
		}
		if a := r.attempt(); a.State != store.AttemptFailed || !strings.Contains(a.Message, line) {
			t.Errorf("%s: attempt %s, message %q", image, a.State, a.Message)
		}
	}
}

func TestAServiceWithAVolumeHandsOverAndNeverHasTwoWriters(t *testing.T) {
	volume := func(s *spec.Service) {
		s.Volumes = []spec.Volume{{Name: "data", Path: "/data"}}
		s.Strategy = spec.Recreate
	}
	r := startRig(t)
	r.apply(r.spec("good:1", volume))
	r.settle(20, time.Minute)
	old := r.running()
	r.apply(r.spec("slow:1", volume))
	r.settle(30, time.Minute)
	if got := r.running(); len(got) != 1 || got[0] == old[0] {
		t.Fatalf("running %v", got)
	}
	now := r.running()
	r.apply(r.spec("exits:1", volume))
	r.settle(40, time.Minute)
	if got := r.running(); len(got) != 1 || got[0] != now[0] {
		t.Fatalf("after a failed hand-over %v runs, want %v again; %+v", got, now, r.ready())
	}
	if got := r.ready(); got.Reason != string(ReasonPreviousServing) {
		t.Fatalf("condition %+v", got)
	}
	if o := r.engine.WritersOverlap(); len(o) > 0 {
		t.Fatalf("two writers: %+v", o)
	}
}

// An engine killed in the middle of a start may never start that container again.
func TestAContainerTheEngineLostTrackOfIsMadeAnew(t *testing.T) {
	volume := func(s *spec.Service) {
		s.Volumes = []spec.Volume{{Name: "data", Path: "/data"}}
		s.Strategy = spec.Recreate
	}
	for name, change := range map[string]func(*spec.Service){
		"beside the old one":   func(*spec.Service) {},
		"in place of it":       volume,
		"one of three members": func(s *spec.Service) { s.Replicas = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			r := startRig(t)
			r.apply(r.spec("good:1", change))
			r.settle(20, time.Minute)
			old := r.running()
			r.engine.Script(dockertest.Fault{Call: dockertest.CallStart, Kind: dockertest.Wedge, Nth: len(old)})
			r.apply(r.spec("good:2", change))
			r.settle(40, time.Minute)
			if a := r.attempt(); a.State != store.AttemptSucceeded {
				t.Errorf("attempt %s %s: %s", a.State, a.Reason, a.Message)
			}
			if got := r.running(); len(got) != len(old) || slices.Contains(got, old[0]) {
				t.Errorf("running %v, want as many as of %v and none of them", got, old)
			}
			if o := r.engine.WritersOverlap(); len(o) > 0 {
				t.Errorf("two writers: %+v", o)
			}
		})
	}
}

func TestWhatReplacesAContainerTheEngineLostTrackOfIsNotWaitedFor(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.engine.Script(dockertest.Fault{Call: dockertest.CallStart, Kind: dockertest.Wedge})
	failed := 0
	var first docker.ContainerState
	for range 20 {
		r.pass()
		if all := r.engine.Containers(); len(all) > 0 && first.ID == "" {
			first = all[0]
		}
		if r.lastErr != nil {
			failed++
		}
		if len(r.running()) == 1 {
			break
		}
	}
	if len(r.running()) != 1 || failed != 1 {
		t.Errorf("%d passes failed, want the one in which the engine crashed; running %v", failed, r.running())
	}
	if all := r.engine.Containers(); len(all) != 1 || all[0].ID == first.ID || all[0].Address == first.Address || all[0].Name != first.Name {
		t.Errorf("first %+v, then %+v; want the name again at another address", first, all)
	}
}

func TestAnEngineThatLosesTrackOfEveryContainerEndsTheAttempt(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.engine.Script(dockertest.Fault{Call: dockertest.CallStart, Kind: dockertest.FailBefore, Err: docker.ErrWedged, Times: 1000})
	for range 100 {
		r.pass()
		if r.attempt().State.Final() {
			break
		}
		r.clock.Advance(time.Second)
	}
	if a := r.attempt(); a.State != store.AttemptFailed || a.Reason != string(ReasonStartFailed) {
		t.Errorf("attempt %s %s: %s", a.State, a.Reason, a.Message)
	}
}

func TestAServingContainerTheEngineLostTrackOfIsMadeAnew(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	name := r.running()[0]
	r.engine.Kill(name, 1, false)
	r.engine.Script(dockertest.Fault{Call: dockertest.CallStart, Kind: dockertest.Wedge})
	r.settle(40, time.Minute)
	if got := r.running(); len(got) != 1 || got[0] != name {
		t.Errorf("running %v, want %s again; %+v", got, name, r.ready())
	}
}

func TestAChangeInTheMiddleOfAHandOverDoesNotStartASecondWriter(t *testing.T) {
	volume := func(s *spec.Service) {
		s.Volumes = []spec.Volume{{Name: "data", Path: "/data"}}
		s.Strategy = spec.Recreate
	}
	r := startRig(t)
	r.apply(r.spec("good:1", volume))
	r.settle(20, time.Minute)
	old := r.running()
	r.apply(r.spec("500:1", volume))
	for range 200 {
		if got := r.running(); len(got) == 1 && got[0] != old[0] {
			break
		}
		r.pass()
		r.sync()
		r.clock.Advance(50 * time.Millisecond)
	}
	if got := r.running(); len(got) != 1 || got[0] == old[0] {
		t.Fatalf("running %v, want the new release's container alone", got)
	}
	r.apply(r.spec("good:2"))
	r.settle(40, time.Minute)
	if o := r.engine.WritersOverlap(); len(o) > 0 {
		t.Errorf("two writers: %+v", o)
	}
	if got := r.ready(); got.Reason != string(ReasonDeployed) {
		t.Errorf("condition %+v; %s", got, r.describe())
	}
}

func TestReplicasGrowAndShrinkWithADrain(t *testing.T) {
	replicas := func(n int) func(*spec.Service) { return func(s *spec.Service) { s.Replicas = n } }
	r := startRig(t)
	r.apply(r.spec("good:1", replicas(3)))
	r.settle(20, time.Minute)
	if got := r.running(); len(got) != 3 {
		t.Fatalf("running %v", got)
	}
	r.plane.drainFor = 3 * time.Second
	r.apply(r.spec("good:1", replicas(1)))
	begun := r.clock.Now()
	r.settle(20, time.Minute)
	if got := r.running(); len(got) != 1 {
		t.Fatalf("running %v", got)
	}
	if took := r.clock.Now().Sub(begun); took < 3*time.Second {
		t.Fatalf("replicas were stopped after %s, before their requests ended", took)
	}
	r.apply(r.spec("good:1", replicas(2)))
	r.settle(20, time.Minute)
	if got := r.running(); len(got) != 2 {
		t.Fatalf("running %v", got)
	}
}

func TestRevertingAfterAFailureKeepsTheRunningContainer(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	before := r.running()
	r.apply(r.spec("exits:1"))
	r.settle(40, time.Minute)
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	if got := r.running(); len(got) != 1 || got[0] != before[0] {
		t.Fatalf("running %v, want %v", got, before)
	}
	if a := r.attempt(); a.State != store.AttemptSucceeded {
		t.Fatalf("attempt %+v", a)
	}
}

func TestACrashingReleaseIsTakenOverAndSaysSo(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("flaky:1"))
	r.settle(20, time.Minute)
	name := r.running()[0]
	r.engine.Kill(name, 1, false)
	loops, unquoted := 0, 0
	for range 400 {
		r.pass()
		r.sync()
		if got := r.ready(); got.Reason == string(ReasonCrashLoop) && strings.Contains(got.Message, "exited") {
			loops++
			if !strings.Contains(got.Message, "the queue is gone") {
				unquoted++
			}
		}
		r.clock.Advance(100 * time.Millisecond)
	}
	if loops == 0 || unquoted > 0 {
		t.Errorf("the crash loop was named in %d passes, in %d of them without what it printed", loops, unquoted)
	}
	r.settle(40, 3*time.Minute)
	if got := r.ready(); got.Reason != string(ReasonDeployed) {
		t.Fatalf("after it recovered: %+v", got)
	}
}

func TestTheReleaseBeforeIsHeldAndComesBackWithoutAStart(t *testing.T) {
	keep := func(s *spec.Service) { s.KeepPrevious = time.Minute }
	r := startRig(t)
	var names []string
	for _, image := range []string{"good:1", "good:2", "good:1", "good:2"} {
		r.apply(r.spec(image, keep))
		r.passFor(5 * time.Second)
		names = r.running()
		if image == "good:2" && len(names) != 2 {
			t.Fatalf("%v runs: the release before should be held", names)
		}
	}
	starts := 0
	for _, h := range r.engine.History() {
		if h.Did == dockertest.DidStart {
			starts++
		}
	}
	if starts != 2 {
		t.Errorf("%d starts: a held release needs none", starts)
	}
	r.settle(20, 2*time.Minute)
	if got := r.running(); len(got) != 1 {
		t.Errorf("%v runs after the hold", got)
	}
}

func TestAnAttemptEndsWhenTheDataPlaneStaysAwayAndTrafficMovesWhenItIsBack(t *testing.T) {
	withoutRace(t)
	r := startRig(t)
	r.plane.down = true
	r.apply(r.spec("good:1"))
	r.passFor(3 * time.Minute)
	a := r.attempt()
	if a.State != store.AttemptFailed || a.Reason != string(ReasonCutoverTimeout) || !strings.Contains(a.Message, "berth doctor") {
		t.Fatalf("attempt %s %s: %s", a.State, a.Reason, a.Message)
	}
	if got := r.running(); len(got) != 1 {
		t.Fatalf("running %v: the new container should stay", got)
	}
	r.plane.down = false
	r.passFor(20 * time.Second)
	if got := r.ready(); got.Reason != string(ReasonDeployed) {
		t.Fatalf("with the data plane back: %+v", got)
	}
}
