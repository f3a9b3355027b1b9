package application

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// trafficAfter is how long after its start each container first took traffic.
func (r *rig) trafficAfter() map[string]time.Duration {
	took := map[string]time.Duration{}
	r.store.onActive = func(_, after store.ActiveRelease) {
		for _, target := range after.Targets {
			if _, known := took[target.Container]; known {
				continue
			}
			for _, h := range r.engine.History() {
				if h.Did == dockertest.DidStart && h.Name == target.Container {
					took[target.Container] = r.clock.Now().Sub(h.At)
				}
			}
		}
	}
	return took
}

// image adds an image of that behaviour and returns its name.
func (r *rig) image(name string, b dockertest.Behaviour) string {
	r.engine.AddImage(name, docker.Image{}, b)
	return name
}

func unprobed(s *spec.Service) { s.Readiness = nil }

func worker(s *spec.Service) { s.Readiness, s.Port, s.Domains = nil, 0, nil }

func window(d time.Duration) func(*spec.Service) {
	return func(s *spec.Service) { s.StableWindow = d }
}

func TestTrafficComesOnceAContainerHasProvedItself(t *testing.T) {
	watch := DefaultTiming().StartupWatch
	for _, c := range []struct {
		name   string
		change []func(*spec.Service)
		least  time.Duration // after the container's start
	}{
		{"with a probe", nil, 30 * time.Millisecond},
		{"without one it is watched", []func(*spec.Service){unprobed}, watch},
		{"a worker is watched too", []func(*spec.Service){worker}, watch},
		{"a stable window begins when it is ready", []func(*spec.Service){window(5 * time.Second)}, 5*time.Second + 30*time.Millisecond},
		{"a window and a watch go on together", []func(*spec.Service){unprobed, window(2 * time.Second)}, watch},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startRig(t)
			took := r.trafficAfter()
			r.apply(r.spec("good:1", c.change...))
			r.passFor(10 * time.Second)
			running := r.running()
			if len(running) != 1 || r.attempt().State != store.AttemptSucceeded {
				t.Fatalf("running %v, attempt %+v", running, r.attempt())
			}
			if got := took[running[0]]; got < c.least || got > c.least+time.Second {
				t.Errorf("traffic came %s after its start, want %s or a moment more", got, c.least)
			}
		})
	}
}

func TestWhatEndsWhileItIsWatchedGetsNoTraffic(t *testing.T) {
	late := func(code int, oom bool) dockertest.Behaviour {
		return dockertest.Behaviour{Port: 8080, Exit: &dockertest.Exit{After: 2 * time.Second, Code: code, OOM: oom}}
	}
	// refusing is ready, refuses from that age on, and ends later.
	refusing := func(from, end time.Duration) dockertest.Behaviour {
		return dockertest.Behaviour{
			Port: 8080, Exit: &dockertest.Exit{After: end, Code: 1},
			Paths: map[string][]dockertest.StatusAt{"*": {{Status: 200}, {After: from, Status: 503}}},
		}
	}
	hasty := func(s *spec.Service) {
		s.StableWindow, s.ReadyTimeout = 5*time.Second, 2*time.Second
		s.Readiness.Interval = 200 * time.Millisecond
	}
	for _, c := range []struct {
		name   string
		image  dockertest.Behaviour
		change func(*spec.Service)
		want   Reason
	}{
		{"without a probe", late(1, false), unprobed, ReasonExitedStable},
		{"a worker", late(1, false), worker, ReasonExited},
		{"in its stable window", late(1, false), window(5 * time.Second), ReasonExitedStable},
		{"out of memory in its stable window", late(137, true), window(5 * time.Second), ReasonOOMStable},
		{"a clean end is one too", late(0, false), window(5 * time.Second), ReasonExitedStable},
		{"it refuses before its end shows", refusing(2*time.Second, 2600*time.Millisecond), hasty, ReasonExitedStable},
		{"it refuses and runs on", refusing(2*time.Second, time.Hour), hasty, ReasonReadinessFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startRig(t)
			r.apply(r.spec("good:1", c.change))
			r.passFor(8 * time.Second)
			old := r.running()
			took := r.trafficAfter()
			r.apply(r.spec(r.image("late:1", c.image), c.change))
			r.settle(60, time.Minute)
			if a := r.attempt(); a.State != store.AttemptFailed || a.Reason != string(c.want) {
				t.Errorf("attempt %s %s: %s; want %s", a.State, a.Reason, a.Message, c.want)
			}
			if got := r.running(); !slices.Equal(got, old) {
				t.Errorf("running %v, want %v", got, old)
			}
			for name := range took {
				if !slices.Contains(old, name) {
					t.Errorf("%s took traffic", name)
				}
			}
		})
	}
}

func TestWhatServesIsKeptAliveWhileACandidateIsWaitedFor(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	old := r.running()[0]
	r.apply(r.spec("never:1", func(s *spec.Service) { s.ReadyTimeout = time.Hour }))
	r.passFor(2 * time.Second)
	for what, lose := range map[string]func(){
		"it ends": func() { r.engine.Kill(old, 1, false) },
		"somebody stops it": func() { // the engine does not start it again
			if err := r.engine.Stop(t.Context(), old, time.Second); err != nil {
				t.Fatal(err)
			}
		},
	} {
		lose()
		r.passFor(5 * time.Second)
		if a := r.attempt(); a.State != store.AttemptRunning {
			t.Fatalf("%s: attempt %s %s: the candidate should be waited for", what, a.State, a.Reason)
		}
		if got := r.running(); !slices.Contains(got, old) {
			t.Fatalf("%s: running %v: %s should be there again", what, got, old)
		}
		active, err := r.store.GetActiveRelease(t.Context(), r.service)
		if err != nil || len(active.Targets) != 1 || active.Targets[0].Container != old {
			t.Fatalf("%s: traffic goes to %+v, %v", what, active.Targets, err)
		}
	}
}

// takeAway stops and removes a container by hand.
func (r *rig) takeAway(name string) {
	r.t.Helper()
	if err := r.engine.Stop(r.t.Context(), name, time.Second); err != nil {
		r.t.Fatal(err)
	}
	if err := r.engine.Remove(r.t.Context(), name); err != nil {
		r.t.Fatal(err)
	}
}

func TestAContainerOfAnotherImageIsNotTakenForTheOneThatWasDeployed(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	made, err := r.engine.Inspect(t.Context(), r.running()[0])
	if err != nil {
		t.Fatal(err)
	}
	other, err := r.engine.Image(t.Context(), "good:2")
	if err != nil {
		t.Fatal(err)
	}
	// Somebody makes it anew by hand, with its name and labels.
	r.takeAway(made.Name)
	_, err = r.engine.Create(t.Context(), docker.ContainerSpec{
		Name: made.Name, Image: other.ID, Labels: made.Labels,
		Network: docker.NetworkAttachment{Network: NetworkName("", r.app), Address: made.Address},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.engine.Start(t.Context(), made.Name); err != nil {
		t.Fatal(err)
	}
	r.memory.TouchAll() // as after the engine's events
	r.passFor(15 * time.Second)
	got := r.engine.Containers()
	if len(got) != 1 || got[0].ImageID != made.ImageID || !got[0].Running() {
		t.Errorf("%s; image %s, want %s", r.describe(), got[0].ImageID, made.ImageID)
	}
	if c := r.ready(); !strings.Contains(c.Message, "serves on 1 of 1") {
		t.Errorf("condition %+v", c)
	}
}
