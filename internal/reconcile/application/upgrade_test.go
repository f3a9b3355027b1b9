package application

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// madeBefore shows containers as a version without groups labelled them.
type madeBefore struct {
	*dockertest.Engine
	names []string // theirs
}

func (o madeBefore) relabel(s *docker.ContainerState) {
	if slices.Contains(o.names, s.Name) {
		s.Labels = maps.Clone(s.Labels)
		s.Labels[docker.LabelMember] = "main"
	}
}

func (o madeBefore) List(ctx context.Context, labels map[string]string) ([]docker.ContainerState, error) {
	list, err := o.Engine.List(ctx, labels)
	for i := range list {
		o.relabel(&list[i])
	}
	return list, err
}

func (o madeBefore) Inspect(ctx context.Context, ref string) (*docker.ContainerState, error) {
	s, err := o.Engine.Inspect(ctx, ref)
	if s != nil {
		o.relabel(s)
	}
	return s, err
}

// upgrade goes on in a new process of this version with what the one before made.
func (r *rig) upgrade() {
	before := madeBefore{Engine: r.engine}
	for _, c := range r.engine.Containers() {
		before.names = append(before.names, c.Name)
	}
	r.memory, r.store.puller = NewMemory(nil), nil
	r.build = func() *Controller {
		c := r.controller()
		c.rt = before
		return c
	}
}

func TestContainersOfTheVersionBeforeAreTakenOverAsTheyStand(t *testing.T) {
	live := func(s *spec.Service) {
		s.Liveness = &spec.Probe{Path: "/", Interval: time.Second, Timeout: time.Second}
	}
	for name, shape := range map[string]func(*spec.Service){
		"one": live, "three": withReplicas(3), "with a volume": withVolume, "a worker": worker,
	} {
		t.Run(name, func(t *testing.T) {
			r := startRig(t)
			r.apply(r.spec("good:1", shape))
			r.settle(40, time.Minute)
			first, effects := r.running(), r.effects()
			r.store.onActive = func(before, after store.ActiveRelease) {
				t.Errorf("the row was written: %+v -> %+v", before, after)
			}
			r.upgrade()
			r.passFor(15 * time.Second)
			if c := r.ready(); c.Reason != string(ReasonDeployed) || r.effects() != effects {
				t.Fatalf("condition %+v; %d effects; %s", c, r.effects()-effects, r.describe())
			}
			r.store.onActive = nil

			r.engine.Kill(first[0], 1, false)
			r.passFor(10 * time.Second)
			if c := r.ready(); c.Reason != string(ReasonDeployed) || !slices.Equal(r.running(), first) {
				t.Fatalf("after a crash: condition %+v; %s", c, r.describe())
			}
			r.apply(r.spec("good:2", shape))
			r.passFor(30 * time.Second)
			if a := r.attempt(); a.State != store.AttemptSucceeded || len(r.running()) != len(first) || slices.Contains(r.running(), first[0]) {
				t.Errorf("after a change: attempt %+v; %s", a, r.describe())
			}
		})
	}
}

func TestADeployBegunByTheVersionBeforeGoesOn(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(40, time.Minute)
	r.apply(r.spec("slow:1"))
	r.passFor(time.Second)
	running := r.running()
	r.upgrade()
	r.passFor(20 * time.Second)
	if a := r.attempt(); a.State != store.AttemptSucceeded || len(running) != 2 || !slices.Contains(running, r.running()[0]) {
		t.Errorf("attempt %+v; then %v; %s", a, running, r.describe())
	}
}
