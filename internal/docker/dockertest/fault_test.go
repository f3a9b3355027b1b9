package dockertest_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
)

// mutation is one call that changes something, and how to tell that it did.
type mutation struct {
	prepare func(w *world)
	call    func(w *world) error
	done    func(w *world) bool
}

func mutations() map[dockertest.Call]mutation {
	always := docker.RestartUnlessStopped
	plain := func(w *world) docker.ContainerSpec { return w.spec("c0", dockertest.Behaviour{}) }
	exists := func(w *world) bool { return len(w.Containers()) == 1 }
	has := func(w *world) bool { vs, err := w.ListVolumes(w.ctx, nil); w.must(err); return len(vs) == 1 }
	nets := func(w *world) bool { ns, err := w.ListNetworks(w.ctx, nil); w.must(err); return len(ns) == 5 }
	created := func(w *world) { _, err := w.Create(w.ctx, plain(w)); w.must(err) }
	running := func(w *world) { w.run(plain(w)) }
	volume := func(w *world) error { return w.EnsureVolume(w.ctx, docker.VolumeSpec{Name: "vol"}) }
	network := func(w *world) error {
		_, err := w.CreateNetwork(w.ctx, docker.NetworkSpec{Name: "net", Subnet: netip.MustParsePrefix("10.2.0.0/24")})
		return err
	}
	return map[dockertest.Call]mutation{
		dockertest.CallCreate: {func(w *world) { plain(w) }, func(w *world) error { _, err := w.Create(w.ctx, plain(w)); return err }, exists},
		dockertest.CallStart:  {created, func(w *world) error { return w.Start(w.ctx, "c0") }, func(w *world) bool { return w.inspect("c0").Running() }},
		dockertest.CallStop:   {running, func(w *world) error { return w.Stop(w.ctx, "c0", 0) }, func(w *world) bool { return !w.inspect("c0").Running() }},
		dockertest.CallRemove: {created, func(w *world) error { return w.Remove(w.ctx, "c0") }, func(w *world) bool { return !exists(w) }},
		dockertest.CallUpdate: {created, func(w *world) error { return w.Update(w.ctx, "c0", docker.ContainerUpdate{Restart: &always}) },
			func(w *world) bool { return w.inspect("c0").Restart == always }},
		dockertest.CallSignal: {running, func(w *world) error { return w.Signal(w.ctx, "c0", "HUP") },
			func(w *world) bool { return happened(w, dockertest.DidSignal) }},
		dockertest.CallExec: {func(w *world) {
			w.run(w.spec("c0", dockertest.Behaviour{Exec: func(dockertest.ExecRun) dockertest.ExecOutcome { return dockertest.ExecOutcome{} }}))
		}, func(w *world) error {
			_, err := w.Exec(w.ctx, "c0", docker.ExecSpec{Command: []string{"true"}})
			return err
		}, func(w *world) bool { return happened(w, dockertest.DidExec) }},
		dockertest.CallCopyInto: {created, func(w *world) error {
			return w.CopyInto(w.ctx, "c0", "/etc", []docker.File{{Path: "motd", Data: []byte("hello")}})
		}, func(w *world) bool { _, ok := w.FileIn("c0", "/etc/motd"); return ok }},
		dockertest.CallPull: {func(w *world) { w.AddRemote("r/i:1", dockertest.Remote{}) }, func(w *world) error { return w.Pull(w.ctx, "r/i:1", nil, nil) },
			func(w *world) bool { _, err := w.Image(w.ctx, "r/i:1"); return err == nil }},
		dockertest.CallLoadImage: {func(w *world) { plain(w) },
			func(w *world) error {
				var archive bytes.Buffer
				w.must(w.SaveImage(w.ctx, "c0", &archive))
				return w.LoadImage(w.ctx, &archive)
			},
			func(w *world) bool { return happened(w, dockertest.DidLoadImage) }},
		dockertest.CallEnsureVolume:  {func(*world) {}, volume, has},
		dockertest.CallRemoveVolume:  {func(w *world) { w.must(volume(w)) }, func(w *world) error { return w.RemoveVolume(w.ctx, "vol") }, func(w *world) bool { return !has(w) }},
		dockertest.CallCreateNetwork: {func(*world) {}, network, nets},
		dockertest.CallRemoveNetwork: {func(w *world) { w.must(network(w)) }, func(w *world) error { return w.RemoveNetwork(w.ctx, "net") }, func(w *world) bool { return !nets(w) }},
	}
}

func happened(w *world, did dockertest.Did) bool {
	return slices.ContainsFunc(w.History(), func(m dockertest.Mutation) bool { return m.Did == did })
}

func TestAFaultStrikesBeforeOrAfterTheEffect(t *testing.T) {
	all := mutations()
	for _, call := range dockertest.Calls() {
		if _, ok := all[call]; ok != call.Mutates() {
			t.Errorf("%s: tested %v, mutates %v", call, ok, call.Mutates())
		}
	}
	mine := errors.New("mine")
	for call, m := range all {
		for _, c := range []struct {
			name   string
			fault  dockertest.Fault
			err    error
			effect bool
		}{
			{"none", dockertest.Fault{Nth: 2, Kind: dockertest.FailBefore}, nil, true},
			{"before", dockertest.Fault{Kind: dockertest.FailBefore}, docker.ErrUnavailable, false},
			{"after", dockertest.Fault{Kind: dockertest.FailAfter, Err: mine}, mine, true},
			{"hang", dockertest.Fault{Kind: dockertest.Hang}, context.DeadlineExceeded, false},
			{"hang with effect", dockertest.Fault{Kind: dockertest.Hang, Effect: true}, context.DeadlineExceeded, true},
			{"lie", dockertest.Fault{Kind: dockertest.LieOnce}, nil, false},
		} {
			t.Run(string(call)+"/"+c.name, func(t *testing.T) {
				w := newWorld(t)
				m.prepare(w)
				c.fault.Call = call
				w.Script(c.fault)
				if err := m.call(w); !errors.Is(err, c.err) {
					t.Fatalf("error %v, want %v", err, c.err)
				}
				if m.done(w) != c.effect {
					t.Fatalf("effect %v, want %v", m.done(w), c.effect)
				}
				w.ClearScript()
				w.must(m.call2(w, call, c.effect))
				if !m.done(w) {
					t.Fatal("the repeated call had no effect")
				}
			})
		}
	}
}

// call2 repeats a call; where the first one had its effect, a conflict is fine.
func (m mutation) call2(w *world, call dockertest.Call, had bool) error {
	err := m.call(w)
	if had && (call == dockertest.CallCreate || call == dockertest.CallCreateNetwork) && docker.IsConflict(err) {
		return nil
	}
	return err
}

func TestAHangOnTheWallClockLastsUntilTheContextIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := dockertest.New(dockertest.NewWallClock())
		defer e.Close()
		e.Script(dockertest.Fault{Call: dockertest.CallList, Kind: dockertest.Hang})
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		begin := time.Now()
		_, err := e.List(ctx, nil)
		if took := time.Since(begin); took != 7*time.Second || !errors.Is(err, context.DeadlineExceeded) || !docker.IsUnavailable(err) {
			t.Fatalf("after %v: %v", took, err)
		}
		if _, err := e.List(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	})
}

func TestTheScriptCountsMatchingCalls(t *testing.T) {
	w := newWorld(t)
	w.run(w.spec("c0", dockertest.Behaviour{}))
	w.ResetCalls()
	w.Script(
		dockertest.Fault{Call: dockertest.CallInspect, Object: "c0", Nth: 2, Times: 2, Kind: dockertest.FailBefore},
		dockertest.Fault{Mutating: true, Kind: dockertest.FailBefore},
	)
	var got []bool
	for range 5 {
		_, err := w.Inspect(w.ctx, "c0")
		got = append(got, err == nil)
		_, _ = w.Inspect(w.ctx, "other")
	}
	for i, want := range []bool{true, false, false, true, true} {
		if got[i] != want {
			t.Fatalf("inspects succeeded %v", got)
		}
	}
	if err := w.Stop(w.ctx, "c0", 0); !docker.IsUnavailable(err) {
		t.Fatalf("stop: %v", err)
	}
	if n := w.ClearScript(); n != 0 {
		t.Fatalf("%d faults left", n)
	}
	if n := w.CallCount(dockertest.CallInspect); n != 10 || w.CallCount(dockertest.CallAny) != 11 {
		t.Fatalf("%d inspects, %d calls", n, w.CallCount(dockertest.CallAny))
	}
	last := w.Calls()[10]
	if last.Call != dockertest.CallStop || last.Object != "c0" || last.Fault != dockertest.FailBefore || last.Err == nil || !last.At.Equal(w.clock.Now()) {
		t.Fatalf("logged %+v", last)
	}
}

func TestALieTellsOfTheWorldBeforeTheLastChange(t *testing.T) {
	list := func(w *world, lie dockertest.Lie) (out []docker.ContainerState) {
		w.Script(dockertest.Fault{Call: dockertest.CallList, Kind: dockertest.LieOnce, Lie: lie})
		out, err := w.List(w.ctx, nil)
		w.must(err)
		return out
	}
	w := newWorld(t)
	spec := w.spec("c0", dockertest.Behaviour{})
	_, err := w.Create(w.ctx, spec)
	w.must(err)
	if got := list(w, dockertest.LieStale); len(got) != 0 {
		t.Errorf("just created, listed %v", got)
	}
	w.must(w.Start(w.ctx, "c0"))
	if got := list(w, dockertest.LieStale); len(got) != 1 || got[0].Status != docker.StatusCreated || got[0].Full {
		t.Errorf("just started, listed %v", got)
	}
	w.must(w.Stop(w.ctx, "c0", 0))
	if got := list(w, dockertest.LieStale); len(got) != 1 || got[0].Status != docker.StatusRunning {
		t.Errorf("just stopped, listed %v", got)
	}
	if got := list(w, dockertest.LieRunning); got[0].Status != docker.StatusRunning {
		t.Errorf("stopped, listed %v", got)
	}
	w.Script(dockertest.Fault{Call: dockertest.CallInspect, Kind: dockertest.LieOnce, Lie: dockertest.LieRunning},
		dockertest.Fault{Call: dockertest.CallInspect, Nth: 2, Kind: dockertest.LieOnce, Lie: dockertest.LieOmit})
	if st := w.inspect("c0"); !st.Running() {
		t.Errorf("stopped, inspected as %s", st.Status)
	}
	if _, err := w.Inspect(w.ctx, "c0"); !docker.IsNotFound(err) {
		t.Errorf("stopped, inspect says %v", err)
	}
	if got := list(w, dockertest.LieOmit); len(got) != 0 {
		t.Errorf("listed %v", got)
	}
	w.must(w.Remove(w.ctx, "c0"))
	if got := list(w, dockertest.LieStale); len(got) != 1 || got[0].Status != docker.StatusExited {
		t.Errorf("just removed, listed %v", got)
	}
	w.Script(dockertest.Fault{Call: dockertest.CallInspect, Kind: dockertest.LieOnce})
	if st := w.inspect("c0"); st.Status != docker.StatusExited || !st.Full {
		t.Errorf("just removed, inspected as %+v", st)
	}
	w.Script(dockertest.Fault{Call: dockertest.CallInspect, Kind: dockertest.LieOnce, Lie: dockertest.LieRunning})
	if _, err := w.Inspect(w.ctx, "c0"); !docker.IsNotFound(err) {
		t.Errorf("removed, inspect says %v", err)
	}
	if got, err := w.List(w.ctx, nil); len(got) != 0 || err != nil {
		t.Errorf("the lie was told twice: %v, %v", got, err)
	}
}

func TestACallerCanBeCutBeforeAndAfterEveryEffect(t *testing.T) {
	type cut struct{}
	for call, m := range mutations() {
		for _, after := range []bool{false, true} {
			w := newWorld(t)
			m.prepare(w)
			w.OnCall(func(p dockertest.CutPoint) {
				if p.After == after {
					panic(cut{})
				}
			})
			func() {
				defer func() {
					if r := recover(); r != (cut{}) {
						t.Errorf("%s: recovered %v", call, r)
					}
				}()
				_ = m.call(w)
			}()
			w.OnCall(nil)
			if m.done(w) != after {
				t.Errorf("%s cut with after=%v: effect %v", call, after, m.done(w))
			}
		}
	}
}
