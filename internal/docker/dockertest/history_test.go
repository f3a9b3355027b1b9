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

func writer(w *world, name string, readOnly bool) docker.ContainerSpec {
	spec := w.spec(name, dockertest.Behaviour{})
	spec.Mounts = []docker.Mount{{Volume: "data", Path: "/data", ReadOnly: readOnly}}
	return spec
}

func TestTwoRunningWritersOfOneVolumeAreAnOverlap(t *testing.T) {
	w := newWorld(t)
	w.run(writer(w, "c1", false))
	w.run(writer(w, "reader", true))
	w.must(w.Stop(w.ctx, "c1", 0))
	w.clock.Advance(time.Second)
	w.run(writer(w, "c2", false))
	if got := w.WritersOverlap(); len(got) != 0 {
		t.Fatalf("overlaps %v", got)
	}
	w.clock.Advance(time.Second)
	w.must(w.Start(w.ctx, "c1"))
	want := []dockertest.Overlap{{At: epoch.Add(2 * time.Second), Volume: "data", First: "c2", Second: "c1"}}
	if got := w.WritersOverlap(); !slices.Equal(got, want) {
		t.Fatalf("overlaps %v, want %v", got, want)
	}
}

func TestAWriterStillHoldsItsVolumeDuringItsGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := dockertest.New(dockertest.NewWallClock())
		defer e.Close()
		e.AddImage("slow", docker.Image{}, dockertest.Behaviour{StopTime: 5 * time.Second})
		mounts := []docker.Mount{{Volume: "data", Path: "/data"}}
		for _, name := range []string{"old", "new"} {
			if _, err := e.Create(t.Context(), docker.ContainerSpec{Name: name, Image: "slow", Mounts: mounts}); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Start(t.Context(), "old"); err != nil {
			t.Fatal(err)
		}
		stopped := make(chan error, 1)
		go func() { stopped <- e.Stop(t.Context(), "old", 10*time.Second) }()
		synctest.Wait()
		if err := errors.Join(e.Start(t.Context(), "new"), <-stopped); err != nil {
			t.Fatal(err)
		}
		if got := e.WritersOverlap(); len(got) != 1 {
			t.Fatalf("overlaps %v", got)
		}
	})
}

func TestTheHistoryTellsWhoDidWhat(t *testing.T) {
	w := newWorld(t)
	mine := w.spec("mine", dockertest.Behaviour{Exit: &dockertest.Exit{After: time.Second, Code: 9}})
	mine.Labels = map[string]string{docker.LabelInstance: "i"}
	mine.Restart = docker.RestartUnlessStopped
	w.ResetHistory()
	w.run(mine)
	w.clock.Advance(1100 * time.Millisecond)
	w.must(w.Stop(w.ctx, "mine", 0))
	w.must(w.Remove(w.ctx, "mine"))
	type step struct {
		did dockertest.Did
		by  dockertest.Actor
	}
	var got []step
	for _, m := range w.History() {
		got = append(got, step{m.Did, m.By})
		if m.Name != "mine" || m.Labels[docker.LabelInstance] != "i" {
			t.Errorf("recorded %+v", m)
		}
	}
	want := []step{
		{dockertest.DidCreate, dockertest.ByCall}, {dockertest.DidStart, dockertest.ByCall}, {dockertest.DidDie, dockertest.ByEngine},
		{dockertest.DidStart, dockertest.ByEngine}, {dockertest.DidStop, dockertest.ByCall}, {dockertest.DidDie, dockertest.ByEngine},
		{dockertest.DidRemove, dockertest.ByCall},
	}
	if !slices.Equal(got, want) {
		t.Fatalf("history %v, want %v", got, want)
	}
	if touched := w.TouchedWithout(docker.LabelInstance, "i"); len(touched) != 0 {
		t.Fatalf("touched %v", touched)
	}
	if touched := w.TouchedWithout(docker.LabelInstance, "other"); len(touched) != 3 {
		t.Fatalf("touched without the other label %v", touched)
	}
}
