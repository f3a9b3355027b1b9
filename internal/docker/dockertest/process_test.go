package dockertest_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
)

func TestTheEngineRestartsWithADoublingBackoff(t *testing.T) {
	w := newWorld(t)
	spec := w.spec("loop", dockertest.Behaviour{Exit: &dockertest.Exit{Code: 1}})
	spec.Restart = docker.RestartUnlessStopped
	w.run(spec)
	w.clock.Advance(10 * time.Minute)
	var starts []time.Duration
	for _, m := range w.History() {
		if m.Did == dockertest.DidStart {
			starts = append(starts, m.At.Sub(epoch))
		}
	}
	wait, at := 100*time.Millisecond, time.Duration(0)
	for i, got := range starts {
		if got != at {
			t.Fatalf("start %d after %v, want %v", i, got, at)
		}
		at += wait
		wait = min(2*wait, time.Minute)
	}
	if len(starts) < 15 || w.inspect("loop").RestartCount != len(starts) {
		t.Fatalf("%d starts, restart count %d", len(starts), w.inspect("loop").RestartCount)
	}
}

func TestALongRunResetsTheBackoff(t *testing.T) {
	w := newWorld(t)
	spec := w.spec("loop", dockertest.Behaviour{PerRun: func(r dockertest.Run) dockertest.Behaviour {
		after := time.Duration(0)
		if r.Number == 3 {
			after = 11 * time.Second
		}
		return dockertest.Behaviour{Exit: &dockertest.Exit{After: after}}
	}})
	spec.Restart = docker.RestartUnlessStopped
	w.run(spec)
	w.clock.Advance(700*time.Millisecond + 11*time.Second + 99*time.Millisecond)
	if st := w.inspect("loop"); st.Status != docker.StatusRestarting || st.RestartCount != 4 {
		t.Fatalf("%s after %d restarts", st.Status, st.RestartCount)
	}
	w.clock.Advance(time.Millisecond)
	if got := w.inspect("loop").Started.Sub(epoch); got != 11*time.Second+800*time.Millisecond {
		t.Fatalf("last start after %v", got)
	}
}

func TestAnExitOfTheFirstRunsOnly(t *testing.T) {
	w := newWorld(t)
	spec := w.spec("flaky", dockertest.Behaviour{Port: 80, Exit: &dockertest.Exit{After: time.Second, Code: 2, Times: 2}})
	spec.Restart = docker.RestartUnlessStopped
	w.run(spec)
	w.clock.Advance(time.Hour)
	if st := w.inspect("flaky"); !st.Running() || st.RestartCount != 2 {
		t.Fatalf("%s after %d restarts", st.Status, st.RestartCount)
	}
}

func TestStopTakesTheTimeOfTheContainer(t *testing.T) {
	for name, c := range map[string]struct {
		behaviour dockertest.Behaviour
		grace     time.Duration
		took      time.Duration
		code      int
	}{
		"at once":           {dockertest.Behaviour{StopCode: 143}, 10 * time.Second, 0, 143},
		"slow":              {dockertest.Behaviour{StopTime: 3 * time.Second}, 10 * time.Second, 3 * time.Second, 0},
		"slower than grace": {dockertest.Behaviour{StopTime: 30 * time.Second}, 10 * time.Second, 10 * time.Second, 137},
		"ignores":           {dockertest.Behaviour{IgnoreTerm: true}, 1500 * time.Millisecond, 2 * time.Second, 137},
		"no grace":          {dockertest.Behaviour{IgnoreTerm: true}, 0, 0, 137},
		"ends by itself":    {dockertest.Behaviour{StopTime: 3 * time.Second, Exit: &dockertest.Exit{After: time.Second, Code: 4}}, 10 * time.Second, time.Second, 4},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spec := w.spec("c0", c.behaviour)
			spec.Restart = docker.RestartUnlessStopped
			w.run(spec)
			w.must(w.Stop(w.ctx, "c0", c.grace))
			st := w.inspect("c0")
			if w.since() != c.took || st.Exit.Code != c.code || st.Status != docker.StatusExited {
				t.Fatalf("took %v, code %d, %s; want %v, code %d", w.since(), st.Exit.Code, st.Status, c.took, c.code)
			}
			w.clock.Advance(time.Hour)
			if st := w.inspect("c0"); st.Status != docker.StatusExited || st.RestartCount != 0 {
				t.Fatalf("restarted after the stop: %s", st.Status)
			}
		})
	}
}

func TestStopsThatOverlapTakeTheTimeOfTheLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := dockertest.New(dockertest.NewWallClock())
		defer e.Close()
		begin := time.Now()
		done := make(chan error, 2)
		for name, d := range map[string]time.Duration{"a": 3 * time.Second, "b": 5 * time.Second} {
			e.AddImage(name, docker.Image{}, dockertest.Behaviour{StopTime: d})
			if _, err := e.Create(t.Context(), docker.ContainerSpec{Name: "c-" + name, Image: name}); err != nil {
				t.Fatal(err)
			}
			if err := e.Start(t.Context(), "c-"+name); err != nil {
				t.Fatal(err)
			}
			go func() { done <- e.Stop(t.Context(), "c-"+name, 10*time.Second) }()
		}
		if err := errors.Join(<-done, <-done); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 5*time.Second {
			t.Fatalf("took %v", took)
		}
	})
}

func TestAnEngineRestart(t *testing.T) {
	setup := func(t *testing.T) *world {
		w := newWorld(t)
		for _, c := range []struct {
			name   string
			policy docker.RestartPolicy
		}{{"kept", docker.RestartUnlessStopped}, {"plain", docker.RestartNo}, {"halted", docker.RestartUnlessStopped}} {
			spec := w.spec(c.name, dockertest.Behaviour{Port: 80})
			spec.Restart = c.policy
			w.run(spec)
		}
		w.must(w.Stop(w.ctx, "halted", 0))
		w.clock.Advance(time.Second)
		return w
	}
	status := func(w *world) (out []docker.Status) {
		for _, c := range w.Containers() {
			out = append(out, c.Status)
		}
		return out
	}
	t.Run("with live-restore drops nothing", func(t *testing.T) {
		w := setup(t)
		w.RestartEngine(true)
		want := []docker.Status{docker.StatusRunning, docker.StatusRunning, docker.StatusExited}
		if got := status(w); !slices.Equal(got, want) || !w.inspect("kept").Started.Equal(epoch) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
	t.Run("without starts again what nobody stopped", func(t *testing.T) {
		w := setup(t)
		w.RestartEngine(false)
		want := []docker.Status{docker.StatusRunning, docker.StatusExited, docker.StatusExited}
		if got := status(w); !slices.Equal(got, want) || w.inspect("kept").Started.Equal(epoch) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestAnEngineThatShutsDownEndsEveryContainer(t *testing.T) {
	w := newWorld(t)
	w.run(w.spec("stubborn", dockertest.Behaviour{IgnoreTerm: true}))
	w.run(w.spec("polite", dockertest.Behaviour{StopCode: 143}))
	loop := w.spec("loop", dockertest.Behaviour{Exit: &dockertest.Exit{Code: 1}})
	loop.Restart = docker.RestartUnlessStopped
	w.run(loop)
	w.clock.Advance(time.Minute) // the loop waits for its next start
	w.RestartEngine(false)
	for name, want := range map[string]int{"stubborn": 137, "polite": 143} {
		if st := w.inspect(name); st.Status != docker.StatusExited || st.Exit.Code != want {
			t.Errorf("%s is %s with code %d, want %d", name, st.Status, st.Exit.Code, want)
		}
	}
	if st := w.inspect("loop"); !st.Running() || st.RestartCount != 0 {
		t.Errorf("the loop is %s after %d restarts", st.Status, st.RestartCount)
	}
	w.clock.Advance(time.Minute)
	if touched := w.TouchedWithout("none", ""); len(touched) != 3 {
		t.Errorf("callers touched %v, want the three starts", touched)
	}
}

func TestADownEngineAnswersNothing(t *testing.T) {
	w := newWorld(t)
	w.run(w.spec("c0", dockertest.Behaviour{Exit: &dockertest.Exit{After: time.Second}}))
	w.SetDown(true)
	if _, err := w.List(w.ctx, nil); !docker.IsUnavailable(err) {
		t.Fatalf("list: %v", err)
	}
	if err := w.Remove(w.ctx, "c0"); !docker.IsUnavailable(err) {
		t.Fatalf("remove: %v", err)
	}
	w.clock.Advance(time.Second)
	w.SetDown(false)
	if st := w.inspect("c0"); st.Status != docker.StatusExited {
		t.Fatalf("the container stood still while the engine was down: %s", st.Status)
	}
}

func TestAKilledContainerIsRestarted(t *testing.T) {
	w := newWorld(t)
	spec := w.spec("c0", dockertest.Behaviour{})
	spec.Restart = docker.RestartUnlessStopped
	w.run(spec)
	var seen []docker.EventAction
	w.OnEvent(func(ev docker.Event) { seen = append(seen, ev.Action) })
	if !w.Kill("c0", 0, true) {
		t.Fatal("nothing to kill")
	}
	if st := w.inspect("c0"); st.Status != docker.StatusRestarting || !st.Exit.OOMKilled || st.Exit.Code != 137 {
		t.Fatalf("%s, %+v", st.Status, st.Exit)
	}
	w.clock.Advance(100 * time.Millisecond)
	if want := []docker.EventAction{docker.EventOOM, docker.EventDie, docker.EventStart}; !slices.Equal(seen, want) {
		t.Fatalf("events %v, want %v", seen, want)
	}
	if w.Kill("none", 1, false) {
		t.Fatal("killed what is not there")
	}
}

func TestAContainerRemembersItsNetworkByID(t *testing.T) {
	w := newWorld(t)
	w.run(w.spec("c0", dockertest.Behaviour{}))
	w.must(w.Stop(w.ctx, "c0", 0))
	list, err := w.ListNetworks(w.ctx, nil)
	w.must(err)
	old := list[len(list)-1]
	w.must(w.RemoveNetwork(w.ctx, testNetwork))
	_, err = w.CreateNetwork(w.ctx, docker.NetworkSpec{Name: testNetwork, Subnet: old.Subnets[0]})
	w.must(err)
	if err := w.Start(w.ctx, "c0"); !docker.IsNotFound(err) {
		t.Fatalf("start on a network of the same name: %v", err)
	}
}
