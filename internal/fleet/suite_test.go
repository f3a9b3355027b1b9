package fleet_test

import (
	"testing"
	"testing/synctest"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/docker/dockertest/simsuite"
	"github.com/berth-cloud/berth/internal/fleet"
)

// The member's engine has everything; this machine has only networks.
func TestAViewOfOneOtherNodeConforms(t *testing.T) {
	for _, c := range dockertest.SuiteCases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := dockertest.NewWallClock()
				r := newRigOn(t, clock, nil, "n1")
				fx := simsuite.Fixture(r.engine("n1"))
				fx.Runtime, fx.Wait = r.For(on("n1")), simsuite.WaitWall
				c.Run(t, fx)
				for _, s := range r.here.Containers() {
					t.Errorf("container %s is on this machine", s.Name)
				}
			})
		})
	}
}

// The view of all nodes makes on this machine what is not placed.
func TestTheViewOfAllNodesConforms(t *testing.T) {
	for _, c := range dockertest.SuiteCases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := dockertest.NewWallClock()
				r := newRigOn(t, clock, nil, "n1", "n2")
				fx := simsuite.Fixture(r.here)
				fx.Runtime, fx.Wait = r.All(), simsuite.WaitWall
				c.Run(t, fx)
			})
		})
	}
}

func TestWithoutOtherMachinesTheFleetIsThisMachinesEngineItself(t *testing.T) {
	r := newRig(t)
	if rt := r.For(on("")); rt != docker.Runtime(r.here) {
		t.Errorf("the view is %T", rt)
	}
	r.open(func(o *fleet.Options) { o.Members = nil })
	if rt := r.All(); rt != docker.Runtime(r.here) {
		t.Errorf("the view of all is %T", rt)
	}
}
