package application

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

func (r *rig) targets() []string {
	r.t.Helper()
	active, err := r.store.GetActiveRelease(r.t.Context(), r.service)
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for i := range active.Targets {
		names = append(names, active.Targets[i].Container)
	}
	return names
}

func TestAPausedContainerTakesNoTrafficUntilItGoesOn(t *testing.T) {
	for _, n := range []int{1, 2} {
		r := startRig(t)
		r.apply(r.spec("good:1", func(s *spec.Service) { s.Replicas = n }))
		r.settle(20, time.Minute)
		frozen := r.running()[0]
		r.engine.Pause(frozen)
		r.passFor(10 * time.Second)
		if got := r.targets(); len(got) != n-1 || strings.Contains(strings.Join(got, " "), frozen+" ") {
			t.Errorf("of %d replicas, one paused: traffic goes to %v", n, got)
		}
		if got := r.ready(); !strings.Contains(got.Message, "docker unpause "+frozen) {
			t.Errorf("the condition does not say what to do: %+v", got)
		}
		r.engine.Unpause(frozen)
		r.settle(20, time.Minute)
		if got := r.targets(); len(got) != n {
			t.Errorf("of %d replicas, none paused any more: traffic goes to %v", n, got)
		}
	}
}

func TestAPausedCandidateIsGivenUpWhenItsTimeIsOver(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	old := r.running()
	r.apply(r.spec("never:1"))
	for range 100 {
		if len(r.running()) == 2 {
			break
		}
		r.passFor(50 * time.Millisecond)
	}
	for _, name := range r.running() {
		if name != old[0] {
			r.engine.Pause(name)
		}
	}
	r.settle(60, 5*time.Minute)
	if a := r.attempt(); a.State != store.AttemptFailed || !strings.Contains(a.Message, "is paused") {
		t.Errorf("attempt %s %s: %s", a.State, a.Reason, a.Message)
	}
	if got := r.running(); len(got) != 1 || got[0] != old[0] {
		t.Errorf("running %v, want %v alone", got, old)
	}
}
