package application

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// watchTraffic fails the test when the routes lose all that answers.
func (r *rig) watchTraffic() {
	answering := func(a store.ActiveRelease) (n int) {
		for _, t := range a.Targets {
			if r.answers(t.Address.Addr()) {
				n++
			}
		}
		return n
	}
	r.store.onActive = func(before, after store.ActiveRelease) {
		if answering(before) > 0 && answering(after) == 0 {
			r.t.Errorf("the last ready replica was taken off the route: %v -> %v", before.Targets, after.Targets)
		}
	}
}

// passUntil runs passes until the traffic goes to what is said.
func (r *rig) passUntil(want func(targets string) bool) {
	r.t.Helper()
	for range 300 {
		if want(strings.Join(r.targets(), " ")) {
			return
		}
		r.pass()
		r.sync()
		r.clock.Advance(100 * time.Millisecond)
	}
	r.t.Fatalf("traffic goes to %v; %+v; %s", r.targets(), r.attempt(), r.describe())
}

// end ends running containers with that in their names, and tells of it.
func (r *rig) end(names ...string) {
	r.t.Helper()
	for _, name := range names {
		if !r.engine.Kill(name, 1, false) {
			r.t.Fatalf("%s does not run: %s", name, r.describe())
		}
	}
	r.memory.TouchAll()
}

// settled runs the service for half a minute and expects it to serve in the end.
func (r *rig) settled(reason Reason) {
	r.t.Helper()
	r.passFor(30 * time.Second)
	if c := r.ready(); c.Reason != string(reason) || len(r.targets()) == 0 {
		r.t.Errorf("condition %+v; traffic goes to %v; %s", c, r.targets(), r.describe())
	}
}

// halfway changes one replica into three with volumes, until traffic goes to two
// of the new ones and the old one is gone.
func halfway(t *testing.T, old, next string, shape ...func(*spec.Service)) *rig {
	t.Helper()
	r := startRig(t)
	r.slowFirst()
	r.apply(r.spec(old, shape...))
	r.settle(40, time.Minute)
	r.apply(r.spec(next, append(shape, asStateful)...))
	first := r.targets()[0]
	r.passUntil(func(targets string) bool {
		return strings.Count(targets, "-r") == 2 && !strings.Contains(r.describe(), first)
	})
	r.watchTraffic()
	return r
}

func TestAChangeThatComesAgainHalfwayKeepsTrafficOnReplicasWhoseSidecarsStartAgain(t *testing.T) {
	r := halfway(t, "good:1", "good:2", asGroup("side:1"))
	serving := r.targets()
	r.end(serving[0]+".log", serving[1]+".log")
	r.putDesired(func(*store.DesiredService) {})
	r.passFor(300 * time.Millisecond)
	if got := r.targets(); len(got) != 2 {
		t.Errorf("traffic goes to %v", got)
	}
	r.settled(ReasonDeployed)
}

func TestAChangeThatTurnedRoundKeepsTrafficOnAReplicaWhoseSidecarHangs(t *testing.T) {
	r := startRig(t)
	shape := []func(*spec.Service){asRolling("", ""), asGroup("side:1"), withReplicas(2)}
	r.apply(r.spec("good:1", shape...))
	r.settle(40, time.Minute)
	old := r.targets()
	r.apply(r.spec("good:2", shape...))
	r.passUntil(func(string) bool { return !strings.Contains(r.describe(), old[1]) })
	r.watchTraffic()
	for _, name := range r.targets() {
		if strings.HasPrefix(name, old[0]) {
			r.engine.Pause(name + ".log")
		} else {
			r.end(name) // the new one
		}
	}
	r.passFor(2 * time.Second)
	r.engine.Unpause(old[0] + ".log")
	r.settled(ReasonPreviousServing)
}

// slowFirst is an image whose first replica takes its time to become ready.
func (r *rig) slowFirst() string {
	return r.image("slow:first", dockertest.Behaviour{PerRun: func(run dockertest.Run) dockertest.Behaviour {
		if run.Spec.Labels[docker.LabelReplica] == "0" {
			return dockertest.Behaviour{Port: 8080, StartDelay: 8 * time.Second}
		}
		return images["good:1"]
	}})
}

func TestAChangeThatIsScaledDownHalfwayKeepsTrafficOnTheReplicasBeyond(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(40, time.Minute)
	old := r.targets()[0]
	r.apply(r.spec(r.slowFirst(), asRolling("2", "0")))
	r.passUntil(func(targets string) bool { return strings.Count(targets, "-r") == 2 })
	r.watchTraffic()
	r.end(old)
	r.change("update", func(d *store.DesiredService) { d.Replicas, d.Spec.Replicas = 1, 1 })
	r.passFor(2 * time.Second)
	if got := r.targets(); len(got) != 1 || !strings.Contains(got[0], "-r") {
		t.Errorf("traffic goes to %v", got)
	}
	r.settled(ReasonDeployed)
	if n := len(r.running()); n != 1 {
		t.Errorf("%d containers run", n)
	}
}

func TestARollbackToFewerReplicasKeepsTrafficOnThoseBeyond(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", asRolling("", "")))
	r.settle(40, time.Minute)
	old, release := r.targets(), r.attempt().ReleaseID
	r.apply(r.spec("good:2", asRolling("", "")))
	r.passUntil(func(string) bool { return !strings.Contains(r.describe(), old[2]) })
	r.watchTraffic()
	r.takeAway(old[0])
	for _, name := range r.targets() {
		if !strings.HasPrefix(name, old[0]) {
			r.end(name)
		}
	}
	r.change("update", func(d *store.DesiredService) { d.ReleaseID, d.Replicas, d.Spec.Replicas = release, 1, 1 })
	r.settled(ReasonDeployed)
	if n := len(r.running()); n != 1 {
		t.Errorf("%d containers run", n)
	}
}

func TestAReplicaOfAChangeThatFailedIsAskedAgainOnceItRunsAgain(t *testing.T) {
	for _, strategy := range []spec.Strategy{spec.Rolling, spec.BlueGreen} {
		t.Run(string(strategy), func(t *testing.T) {
			r := halfway(t, "slow:1", "slow:first")
			serving := r.targets()
			r.putDesired(func(d *store.DesiredService) { d.Spec.Strategy = strategy })
			r.passFor(200 * time.Millisecond)
			for range 2 { // the attempt starts it again once
				r.end(strings.TrimSuffix(serving[0], "-r1"))
				r.passFor(300 * time.Millisecond)
			}
			if a := r.attempt(); a.State != store.AttemptFailed || len(r.targets()) == 0 {
				t.Fatalf("attempt %+v; traffic goes to %v", a, r.targets())
			}
			for _, name := range serving { // somebody starts them again by hand
				if r.engine.Kill(name, 1, false) && r.engine.Start(t.Context(), name) != nil {
					t.Fatal(r.describe())
				}
			}
			r.clock.Advance(100 * time.Millisecond)
			r.memory.TouchAll()
			r.passFor(500 * time.Millisecond)
			if got := r.targets(); len(got) == 0 {
				t.Errorf("no traffic; %+v; %s", r.ready(), r.describe())
			}
			r.settled(ReasonPreviousServing)
		})
	}
}

func TestReplicasBeyondThoseWantedStandInThroughARestartOfTheEngine(t *testing.T) {
	for _, delay := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(fmt.Sprint("a pass after ", delay), func(t *testing.T) {
			r := startRig(t)
			r.apply(r.spec(r.image("late:1", lateFirst()), withReplicas(3)))
			r.settle(40, time.Minute)
			r.watchTraffic()
			r.end(r.targets()[0])
			r.passFor(time.Second)
			r.change("scale", func(d *store.DesiredService) { d.Replicas, d.Spec.Replicas = 1, 1 })
			r.passFor(time.Second)
			if got := r.targets(); len(got) != 1 || !strings.Contains(got[0], "-r") {
				t.Fatalf("traffic goes to %v", got)
			}
			r.engine.RestartEngine(false)
			r.memory.TouchAll()
			r.clock.Advance(delay)
			r.passFor(2 * time.Second)
			if got := r.targets(); len(got) != 1 || !strings.Contains(got[0], "-r") {
				t.Errorf("traffic goes to %v; %s", got, r.describe())
			}
			r.settled(ReasonDeployed)
			if got := r.targets(); len(r.running()) != 1 || strings.Contains(got[0], "-r") {
				t.Errorf("traffic goes to %v; %s", got, r.describe())
			}
		})
	}
}

func TestAReplicaThatServesKeepsTrafficWhileItsPredecessorRunsAgain(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("slow:1", asRolling("", "")))
	r.settle(40, time.Minute)
	old := r.targets()
	r.apply(r.spec("good:2", asStateful))
	r.passUntil(func(string) bool { return r.engine.Kill(r.successor(old, "-r1"), 1, false) })
	r.memory.TouchAll()
	r.passUntil(func(string) bool { return r.starts(old[2]) == 2 }) // it turned round
	r.watchTraffic()
	serving := r.successor(old, "-r2")
	r.end(old[0], old[1])
	r.putDesired(func(*store.DesiredService) {})
	r.passFor(300 * time.Millisecond)
	if got := strings.Join(r.targets(), " "); !strings.Contains(got, serving) {
		t.Errorf("traffic goes to %v, not to %s; %s", got, serving, r.describe())
	}
	r.settled(ReasonDeployed)
}

// successor is the running replica of that index that is none of the old ones, or "".
func (r *rig) successor(old []string, index string) string {
	for _, name := range r.running() {
		if strings.HasSuffix(name, index) && !slices.Contains(old, name) {
			return name
		}
	}
	return ""
}
