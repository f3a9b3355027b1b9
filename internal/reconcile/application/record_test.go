package application

import (
	"context"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/spec"
)

// lookAt takes in what an inspection that began at a point showed.
func (r *record) lookAt(at uint64, status docker.Status) {
	full := &docker.ContainerState{Name: "c", Status: status}
	r.observe(full, at, false, time.Unix(0, 0), NewRestartBackoff(time.Second, time.Minute, time.Hour), Timing{CrashLimit: 3})
}

func TestALookUnderWayLooksForNobodyElse(t *testing.T) {
	running := &docker.ContainerState{Name: "c", Status: docker.StatusRunning}
	r := &record{}
	_, at, _ := r.known(running)
	r.lookAt(at, docker.StatusRunning)
	if _, _, due := r.known(running); due {
		t.Fatal("what nothing happened to is looked at again")
	}

	r.markStale() // it ended, and the listing does not say so yet
	_, status, due := r.known(running)
	if !due {
		t.Fatal("what something happened to is not looked at")
	}
	if _, _, due := r.known(running); !due {
		t.Error("a pass relies on the inspection of another who has not finished it")
	}
	r.lookAt(status, docker.StatusExited)
	if full, _, _ := r.known(running); full.Status != docker.StatusExited {
		t.Errorf("it is %s", full.Status)
	}
}

func TestALateInspectionDoesNotReplaceANewerOne(t *testing.T) {
	running := &docker.ContainerState{Name: "c", Status: docker.StatusRunning}
	r := &record{}
	_, early, _ := r.known(running)
	r.markStale()
	_, later, _ := r.known(running)
	r.lookAt(later, docker.StatusExited)
	r.lookAt(early, docker.StatusRunning)
	if full, _, _ := r.known(running); full.Status != docker.StatusExited {
		t.Errorf("it is %s, as it was before something happened to it", full.Status)
	}
}

// slowLook is an engine that takes its time over the inspection of a container.
type slowLook struct {
	docker.Runtime
	of            string // its id
	asked, answer chan struct{}
}

func (s slowLook) Inspect(ctx context.Context, ref string) (*docker.ContainerState, error) {
	if ref == s.of {
		s.asked <- struct{}{}
		<-s.answer
	}
	return s.Runtime.Inspect(ctx, ref)
}

func TestAPassDoesNotWaitForTheStatusToSeeThatAnInitHasEnded(t *testing.T) {
	r := startRig(t)
	init := r.image("init:second", dockertest.Behaviour{Exit: &dockertest.Exit{After: 5 * time.Second}})
	r.apply(r.spec("good:1", func(s *spec.Service) { s.Inits = []spec.Member{{Name: "prepare", Image: init}} }))
	r.passFor(time.Second)
	prepare, err := r.engine.Inspect(context.Background(), r.running()[0])
	if err != nil {
		t.Fatal(err)
	}
	r.engine.OnEvent(func(e docker.Event) { r.memory.Touch(r.service, e.ContainerID) })
	r.clock.Advance(5 * time.Second)

	// An engine tells of the end of a container before its listing shows it.
	r.engine.Script(dockertest.Fault{Call: dockertest.CallList, Kind: dockertest.LieOnce, Lie: dockertest.LieStale, Times: 2})
	slow := slowLook{Runtime: r.engine, of: prepare.ID, asked: make(chan struct{}), answer: make(chan struct{})}
	c := r.controller()
	c.rt = slow
	done := make(chan error)
	go func() {
		_, _, err := c.Observe(context.Background())
		done <- err
	}()
	<-slow.asked
	before := r.effects()
	r.pass()
	if r.effects() == before {
		t.Errorf("the pass did nothing, and the next one is in %s: %s", r.last.RequeueAfter, r.describe())
	}
	for {
		select {
		case slow.answer <- struct{}{}:
		case <-slow.asked:
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		}
	}
}
