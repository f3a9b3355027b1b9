package application

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// servesOnce is an image that serves in its first run and answers errors in all
// later ones.
func (r *rig) servesOnce() string {
	return r.image("once:1", dockertest.Behaviour{PerRun: func(run dockertest.Run) dockertest.Behaviour {
		if run.Number == 0 {
			return images["good:1"]
		}
		return dockertest.Status(8080, 500)
	}})
}

func TestAChangeReplacesReplicasThatRunAndCannotServe(t *testing.T) {
	withoutRace(t)
	for name, shape := range map[string]func(*spec.Service){
		"rolling": asRolling("", ""), "rolling without surge": asRolling("0", "1"), "stateful": asStateful, "blue-green": withReplicas(3),
	} {
		for broken := 1; broken <= 3; broken++ {
			t.Run(fmt.Sprintf("%s, %d of 3", name, broken), func(t *testing.T) {
				r := startRig(t)
				r.apply(r.spec(r.servesOnce(), shape))
				r.settle(60, time.Minute)
				for _, name := range r.running()[:broken] {
					r.engine.Kill(name, 1, false)
				}
				r.memory.TouchAll()
				r.passFor(12 * time.Second) // past their time to become ready
				r.apply(r.spec("good:2", shape))
				r.settle(80, time.Minute)
				if a, c := r.attempt(), r.ready(); a.State != store.AttemptSucceeded || c.Reason != string(ReasonDeployed) || len(r.running()) != 3 {
					t.Errorf("attempt %+v; condition %+v; %s", a, c, r.describe())
				}
				if o := r.engine.WritersOverlap(); len(o) > 0 {
					t.Errorf("two writers: %+v", o)
				}
			})
		}
	}
}

func TestARollingChangeThatFailsTakesNoReplicaAwayForGood(t *testing.T) {
	for name, c := range map[string]struct {
		shape  func(*spec.Service)
		fewest int // that serve meanwhile
	}{"rolling": {asRolling("", ""), 3}, "stateful": {asStateful, 2}} {
		t.Run(name, func(t *testing.T) {
			r := startRig(t)
			r.apply(r.spec("good:1", c.shape))
			r.settle(60, time.Minute)
			r.apply(r.spec("never:1", c.shape, withReplicas(1)))
			got := r.watchBounds(250)
			if a := r.attempt(); a.State != store.AttemptFailed || len(r.targets()) != 3 || got.fewest < c.fewest {
				t.Errorf("attempt %+v; bounds %+v; traffic goes to %v", a, got, r.targets())
			}
		})
	}
}

func TestARollingChangeComesToItsOwnNumberOfReplicas(t *testing.T) {
	withoutRace(t)
	for name, shape := range map[string]func(*spec.Service){"rolling": asRolling("", ""), "stateful": asStateful} {
		for _, to := range []int{1, 2, 5} {
			for _, after := range []int{0, 3, 8, 13} { // passes of a change that it overtakes
				t.Run(fmt.Sprintf("%s to %d, after %d", name, to, after), func(t *testing.T) {
					r := startRig(t)
					r.apply(r.spec("good:1", shape))
					r.settle(60, time.Minute)
					if after > 0 {
						r.apply(r.spec("good:2", shape))
						r.watchBounds(after)
					}
					r.apply(r.spec("good:2", shape, withReplicas(to)))
					r.settle(80, time.Minute)
					if a := r.attempt(); a.State != store.AttemptSucceeded || len(r.targets()) != to || len(r.running()) != to {
						t.Errorf("attempt %+v; condition %+v; %s", a, r.ready(), r.describe())
					}
					if o := r.engine.WritersOverlap(); len(o) > 0 {
						t.Errorf("two writers: %+v", o)
					}
				})
			}
		}
	}
}
