package dockertest_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
)

var anyCommand = docker.ExecSpec{Command: []string{"check"}}

func TestACommandMayDependOnTheAgeOfTheProcess(t *testing.T) {
	w := newWorld(t)
	w.run(w.spec("c0", dockertest.Behaviour{Exec: dockertest.PassesAfter(50 * time.Millisecond)}))
	for _, step := range []struct {
		advance time.Duration
		code    int
	}{{0, 1}, {49 * time.Millisecond, 1}, {time.Millisecond, 0}, {time.Hour, 0}} {
		w.clock.Advance(step.advance)
		if code, err := w.Exec(w.ctx, "c0", anyCommand); code != step.code || err != nil {
			t.Errorf("after %v: code %d, %v, want %d", w.since(), code, err, step.code)
		}
	}
	w.must(w.Stop(w.ctx, "c0", 0))
	w.must(w.Start(w.ctx, "c0"))
	if code, err := w.Exec(w.ctx, "c0", anyCommand); code != 1 || err != nil {
		t.Errorf("after a restart: code %d, %v", code, err)
	}
}

func TestACommandTakesTheTimeItIsScriptedToTake(t *testing.T) {
	w := newWorld(t)
	slow := func(dockertest.ExecRun) dockertest.ExecOutcome {
		return dockertest.ExecOutcome{Takes: 3 * time.Second, Stdout: "done"}
	}
	w.run(w.spec("c0", dockertest.Behaviour{Exec: slow}))
	w.run(w.spec("c1", dockertest.Behaviour{Exec: slow, Exit: &dockertest.Exit{After: 4 * time.Second, Code: 9}}))
	var out bytes.Buffer
	e := anyCommand
	e.Stdout = &out
	if code, err := w.Exec(w.ctx, "c0", e); code != 0 || err != nil || out.String() != "done" || w.since() != 3*time.Second {
		t.Errorf("code %d, %v, said %q after %v", code, err, out.String(), w.since())
	}
	out.Reset()
	if code, err := w.Exec(w.ctx, "c1", e); code != 137 || err != nil || out.Len() > 0 || w.since() != 4*time.Second {
		t.Errorf("in a container that ends: code %d, %v, said %q after %v", code, err, out.String(), w.since())
	}
}

func TestACommandKnowsItsContainer(t *testing.T) {
	w := newWorld(t)
	var seen dockertest.ExecRun
	spec := w.spec("c0", dockertest.Behaviour{Exec: func(r dockertest.ExecRun) dockertest.ExecOutcome {
		seen = r
		file, _ := r.File("/etc/asked")
		r.WriteFile("/etc/told", file.Data)
		return dockertest.ExecOutcome{Code: 4}
	}})
	spec.Env = []docker.EnvVar{{Name: "A", Value: "1"}}
	spec.User = "7"
	w.run(spec)
	w.must(w.CopyInto(w.ctx, "c0", "/etc", []docker.File{{Path: "asked", Data: []byte("x")}}))
	e := anyCommand
	e.Env = []docker.EnvVar{{Name: "B", Value: "2"}}
	code, err := w.Exec(w.ctx, "c0", e)
	w.must(err)
	if told, ok := w.FileIn("c0", "/etc/told"); !ok || string(told.Data) != "x" || told.Path != "/etc/told" {
		t.Errorf("it wrote %+v", told)
	}
	if code != 4 || seen.User != "7" || len(seen.Env) != 2 || seen.Number != 0 || seen.Spec.Name != "c0" {
		t.Errorf("code %d, ran as %+v", code, seen)
	}
	if got := w.Execs("c0"); len(got) != 1 || got[0].Code != 4 || !slices.Equal(got[0].Command, []string{"check"}) || !got[0].At.Equal(w.clock.Now()) {
		t.Errorf("recorded %+v", got)
	}
	if n := len(w.Execs("other")); n != 0 {
		t.Errorf("%d commands in another container", n)
	}
	got, ok := w.Spec("c0")
	if !ok || got.User != "7" {
		t.Errorf("made from %+v", got)
	}
}

func TestAnEngineThatGoesDownDropsWhoIsAttached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := dockertest.New(dockertest.NewWallClock())
		defer e.Close()
		e.AddImage("i", docker.Image{}, dockertest.Behaviour{Exec: func(r dockertest.ExecRun) dockertest.ExecOutcome {
			_, _ = io.Copy(r.Stdout, r.Stdin)
			return dockertest.ExecOutcome{}
		}})
		_, err := e.Create(t.Context(), docker.ContainerSpec{Name: "c0", Image: "i"})
		if err == nil {
			err = e.Start(t.Context(), "c0")
		}
		if err != nil {
			t.Fatal(err)
		}
		in, feed := io.Pipe()
		defer feed.Close()
		ended := make(chan error)
		go func() {
			_, err := e.Exec(t.Context(), "c0", docker.ExecSpec{Command: []string{"cat"}, Stdin: in})
			ended <- err
		}()
		synctest.Wait()
		e.SetDown(true)
		if err := <-ended; !docker.IsUnavailable(err) {
			t.Error(err)
		}
	})
}

func TestWhatIsDoneInsideAContainerTouchesIt(t *testing.T) {
	w := newWorld(t)
	w.run(w.spec("c0", dockertest.Behaviour{Exec: dockertest.PassesAfter(0)}))
	w.ResetHistory()
	_, err := w.Exec(w.ctx, "c0", anyCommand)
	w.must(err)
	w.must(w.CopyInto(w.ctx, "c0", "/etc", []docker.File{{Path: "a"}, {Path: "b/c"}}))
	w.must(w.Signal(w.ctx, "c0", "SIGHUP"))
	got := w.TouchedWithout("owner", "me")
	if len(got) != 3 || got[0].Did != dockertest.DidExec || got[1].Did != dockertest.DidCopy || got[2].Did != dockertest.DidSignal {
		t.Fatalf("touched %+v", got)
	}
	if !slices.Equal(got[1].Paths, []string{"/etc/a", "/etc/b/c"}) || !slices.Equal(got[2].Command, []string{"HUP"}) {
		t.Errorf("copied %v, sent %v", got[1].Paths, got[2].Command)
	}
}

func TestAFileGoesWithWhatHoldsIt(t *testing.T) {
	w := newWorld(t)
	spec := w.spec("c0", dockertest.Behaviour{Dirs: []string{"/srv/app"}})
	spec.Mounts = []docker.Mount{{Volume: "outer", Path: "/data"}, {Volume: "inner", Path: "/data/in"}}
	_, err := w.Create(w.ctx, spec)
	w.must(err)
	w.must(w.CopyInto(w.ctx, "c0", "/data", []docker.File{{Path: "a", Data: []byte("1")}, {Path: "in/b", Data: []byte("2")}, {Path: "inn", Data: []byte("3")}}))
	w.must(w.CopyInto(w.ctx, "c0", "/srv", []docker.File{{Path: "app/c", Data: []byte("4")}}))
	for _, c := range []struct{ in, path, want string }{
		{"outer", "a", "1"}, {"outer", "/inn", "3"}, {"inner", "b", "2"}, {"c0", "/data/a", "1"}, {"c0", "/data/in/b", "2"}, {"c0", "/srv/app/c", "4"},
		{"outer", "in/b", ""}, {"inner", "a", ""}, {"c0", "/a", ""},
	} {
		if f, ok := w.FileIn(c.in, c.path); string(f.Data) != c.want || ok != (c.want != "") {
			t.Errorf("%s of %s holds %q, %v", c.path, c.in, f.Data, ok)
		}
	}
	w.must(w.Remove(w.ctx, "c0"))
	if _, ok := w.FileIn("inner", "b"); !ok {
		t.Error("the volume's file went with the container")
	}
	w.must(w.RemoveVolume(w.ctx, "inner"))
	if _, ok := w.FileIn("inner", "b"); ok {
		t.Error("the file outlived its volume")
	}
}

func TestAScriptSeesTheFilesCopiedBeforeTheStart(t *testing.T) {
	w := newWorld(t)
	_, err := w.Create(w.ctx, w.spec("c0", dockertest.Behaviour{PerRun: func(r dockertest.Run) dockertest.Behaviour {
		code := 1
		if f, ok := r.File("/etc/conf"); ok && strings.Contains(string(f.Data), "good") {
			code = 0
		}
		return dockertest.Behaviour{Exit: &dockertest.Exit{Code: code}}
	}}))
	w.must(err)
	for text, code := range map[string]int{"bad": 1, "good": 0} {
		w.must(w.CopyInto(w.ctx, "c0", "/etc", []docker.File{{Path: "conf", Data: []byte(text)}}))
		w.must(w.Start(w.ctx, "c0"))
		w.clock.Advance(time.Millisecond)
		if got := w.inspect("c0").Exit.Code; got != code {
			t.Errorf("with %q it exited with %d", text, got)
		}
	}
}

func TestStatsAreScriptedOrThoseOfASmallProcess(t *testing.T) {
	w := newWorld(t)
	idle := w.spec("idle", dockertest.Behaviour{})
	idle.Resources.MemoryBytes = 32 << 20
	w.run(idle)
	w.run(w.spec("busy", dockertest.Behaviour{
		Exit: &dockertest.Exit{After: 10 * time.Second},
		Stats: func(age time.Duration) docker.Stats {
			return docker.Stats{CPUPercent: 150, MemoryBytes: uint64(age.Milliseconds()), RxBytes: 5, Pids: 12}
		},
	}))
	before := w.since()
	got, err := w.Stats(w.ctx, "idle")
	w.must(err)
	want := docker.Stats{At: w.clock.Now(), CPUPercent: 0.5, CPUNanos: 5e6, MemoryBytes: 8 << 20, MemoryLimitBytes: 32 << 20, Pids: 1}
	if got != want || w.since()-before != time.Second {
		t.Errorf("idle: %+v after %v", got, w.since()-before)
	}
	got, err = w.Stats(w.ctx, "busy")
	w.must(err)
	want = docker.Stats{At: w.clock.Now(), CPUPercent: 150, CPUNanos: 3e9, MemoryBytes: 2000, MemoryLimitBytes: 8 << 30, RxBytes: 5, Pids: 12}
	if got != want {
		t.Errorf("busy: %+v", got)
	}
	w.clock.Advance(7500 * time.Millisecond)
	if _, err := w.Stats(w.ctx, "busy"); !docker.IsNotRunning(err) {
		t.Errorf("of a container that ended meanwhile: %v", err)
	}
}

func TestAnySignalEndsWhatTheRestartPolicyPromised(t *testing.T) {
	w := newWorld(t)
	spec := w.spec("c0", dockertest.Behaviour{Exit: &dockertest.Exit{After: time.Second, Code: 1}})
	spec.Restart = docker.RestartUnlessStopped
	w.run(spec)
	w.must(w.Signal(w.ctx, "c0", "USR1"))
	if !w.inspect("c0").Running() {
		t.Fatal("the signal ended it")
	}
	w.clock.Advance(time.Minute)
	if st := w.inspect("c0"); st.Status != docker.StatusExited || st.RestartCount != 0 {
		t.Errorf("%s after %d restarts", st.Status, st.RestartCount)
	}
}

func TestTheStopSignalMayBeIgnored(t *testing.T) {
	w := newWorld(t)
	w.run(w.spec("deaf", dockertest.Behaviour{IgnoreTerm: true}))
	quits := w.spec("quits", dockertest.Behaviour{StopTime: time.Second, StopCode: 3})
	quits.StopSignal = "SIGQUIT"
	w.run(quits)
	for _, name := range []string{"deaf", "quits"} {
		w.must(w.Signal(w.ctx, name, "TERM"))
	}
	w.clock.Advance(time.Minute)
	if !w.inspect("deaf").Running() || !w.inspect("quits").Running() {
		t.Fatal("TERM ended one that ignores it or has another stop signal")
	}
	w.must(w.Signal(w.ctx, "quits", "QUIT"))
	w.clock.Advance(time.Second)
	if st := w.inspect("quits"); st.Status != docker.StatusExited || st.Exit.Code != 3 {
		t.Errorf("%s with %d", st.Status, st.Exit.Code)
	}
	if err := w.Signal(w.ctx, "quits", "QUIT"); !errors.Is(err, docker.ErrNotRunning) {
		t.Error(err)
	}
}

func TestFaultsStrikeCommands(t *testing.T) {
	w := newWorld(t)
	w.run(w.spec("c0", dockertest.Behaviour{Exec: func(dockertest.ExecRun) dockertest.ExecOutcome { return dockertest.ExecOutcome{Code: 5} }}))
	w.Script(dockertest.Fault{Call: dockertest.CallExec, Kind: dockertest.LieOnce})
	if code, err := w.Exec(w.ctx, "c0", anyCommand); code != 0 || err != nil || len(w.Execs("")) != 0 {
		t.Errorf("a lie: code %d, %v, executed %v", code, err, w.Execs(""))
	}
	w.Script(dockertest.Fault{Call: dockertest.CallExec, Kind: dockertest.FailAfter})
	if _, err := w.Exec(w.ctx, "c0", anyCommand); !docker.IsUnavailable(err) || len(w.Execs("")) != 1 {
		t.Errorf("a failure after the effect: %v, executed %v", err, w.Execs(""))
	}
	w.must(w.Stop(w.ctx, "c0", 0))
	if n := w.CallCount(dockertest.CallExec); n != 2 {
		t.Errorf("%d calls", n)
	}
}
