package application

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// stories are the changes whose every effect is cut once before and once after.
var stories = []struct {
	name  string
	first func(*rig) spec.Service
	then  func(*rig) spec.Service
	want  Reason // of the condition at the end
}{
	{"first deploy", func(r *rig) spec.Service { return r.spec("good:1") }, nil, ReasonDeployed},
	{"blue-green change", func(r *rig) spec.Service { return r.spec("good:1") },
		func(r *rig) spec.Service { return r.spec("good:2") }, ReasonDeployed},
	{"failed change", func(r *rig) spec.Service { return r.spec("good:1") },
		func(r *rig) spec.Service { return r.spec("exits:1") }, ReasonPreviousServing},
	{"hand-over", func(r *rig) spec.Service { return r.spec("good:1", withVolume) },
		func(r *rig) spec.Service { return r.spec("good:2", withVolume) }, ReasonDeployed},
	{"failed hand-over", func(r *rig) spec.Service { return r.spec("good:1", withVolume) },
		func(r *rig) spec.Service { return r.spec("exits:1", withVolume) }, ReasonPreviousServing},
	{"scale down", func(r *rig) spec.Service { return r.spec("good:1", withReplicas(3)) },
		func(r *rig) spec.Service { return r.spec("good:1", withReplicas(1)) }, ReasonDeployed},
	{"scale up", func(r *rig) spec.Service { return r.spec("good:1") },
		func(r *rig) spec.Service { return r.spec("good:1", withReplicas(3)) }, ReasonDeployed},
	{"first deploy of a group", func(r *rig) spec.Service { return r.spec("good:1", asGroup("side:1"), withSecrets) }, nil, ReasonDeployed},
	{"change of a group", func(r *rig) spec.Service { return r.spec("good:1", asGroup("side:1"), withSecrets) },
		func(r *rig) spec.Service { return r.spec("good:2", asGroup("side:2"), withSecrets) }, ReasonDeployed},
	{"failed change of a group", func(r *rig) spec.Service { return r.spec("good:1", asGroup("side:1")) },
		func(r *rig) spec.Service { return r.spec("good:2", asGroup("side:ends")) }, ReasonPreviousServing},
	{"hand-over of a group", func(r *rig) spec.Service { return r.spec("good:1", asGroup("side:1"), withVolume) },
		func(r *rig) spec.Service { return r.spec("good:2", asGroup("side:1"), withVolume) }, ReasonDeployed},
	{"rolling change", func(r *rig) spec.Service { return r.spec("good:1", asRolling("", "")) },
		func(r *rig) spec.Service { return r.spec("good:2", asRolling("", "")) }, ReasonDeployed},
	{"rolling change without surge", func(r *rig) spec.Service { return r.spec("good:1", asRolling("0", "1")) },
		func(r *rig) spec.Service { return r.spec("good:2", asRolling("0", "1")) }, ReasonDeployed},
	{"failed rolling change", func(r *rig) spec.Service { return r.spec("good:1", asRolling("", "")) },
		func(r *rig) spec.Service { return r.spec("half:1", asRolling("", "")) }, ReasonPreviousServing},
	{"change of a stateful service", func(r *rig) spec.Service { return r.spec("good:1", asStateful) },
		func(r *rig) spec.Service { return r.spec("good:2", asStateful) }, ReasonDeployed},
	{"failed change of a stateful service", func(r *rig) spec.Service { return r.spec("good:1", asStateful) },
		func(r *rig) spec.Service { return r.spec("exits:1", asStateful) }, ReasonPreviousServing},
	{"rolling change to fewer", func(r *rig) spec.Service { return r.spec("good:1", asRolling("", "")) },
		func(r *rig) spec.Service { return r.spec("good:2", asRolling("", ""), withReplicas(1)) }, ReasonDeployed},
	{"files no more", func(r *rig) spec.Service { return r.spec("good:1", withSecrets) },
		func(r *rig) spec.Service { return r.spec("good:1") }, ReasonDeployed},
	{"job", func(r *rig) spec.Service { return r.spec("job:1", asJob(spec.RestartNo)) },
		func(r *rig) spec.Service { return r.spec("job:2", asJob(spec.RestartNo)) }, ReasonCompleted},
	{"service that becomes a job", func(r *rig) spec.Service { return r.spec("good:1") },
		func(r *rig) spec.Service { return r.spec("job:1", asJob(spec.RestartNo)) }, ReasonCompleted},
}

func withVolume(s *spec.Service) {
	s.Volumes = []spec.Volume{{Name: "data", Path: "/data"}}
	s.Strategy = spec.Recreate
}

func withReplicas(n int) func(*spec.Service) { return func(s *spec.Service) { s.Replicas = n } }

// serving reads a release.
func (r *rig) serving(id string) *store.Release {
	r.t.Helper()
	rel, err := r.store.GetRelease(context.Background(), id)
	if err != nil {
		r.t.Fatalf("release %s: %v", id, err)
	}
	return &rel
}

// cutter ends a pass at its n-th cut point, once. Stops of several replicas
// pass cut points at the same time.
type cutter struct{ left atomic.Int64 }

func (c *cutter) point() {
	if c.left.Add(-1) == 0 {
		panic(cut{})
	}
}

func (c *cutter) arm(r *rig, n int) {
	c.left.Store(int64(n))
	r.engine.OnCall(func(dockertest.CutPoint) { c.point() })
	r.store.onWrite = c.point
}

// untilCut runs passes until the cutter has struck or the service rests; it
// reports whether it struck.
func untilCut(r *rig, c *cutter) bool {
	for range 400 {
		if r.pass() {
			// The process is gone, and what it knew with it.
			r.memory, r.store.puller = NewMemory(nil), nil
			return true
		}
		r.sync()
		if r.resting() {
			break
		}
		r.clock.Advance(max(min(r.last.RequeueAfter, time.Second), 20*time.Millisecond))
	}
	c.left.Store(0)
	return false
}

func TestACrashBeforeOrAfterAnyEffectConverges(t *testing.T) {
	total := 0
	for _, story := range stories {
		t.Run(story.name, func(t *testing.T) {
			for n := 1; ; n += cutStride {
				if !cutStory(t, n, story.first, story.then, story.want) {
					t.Logf("%d cut points", n-1)
					total += n - 1
					return
				}
			}
		})
	}
	t.Logf("%d cut points in all", total)
	if total < 100 { // each story is played until it has no further cut point
		t.Errorf("only %d cut points: the cutter misses effects", total)
	}
}

// cutStory plays one story with its n-th effect cut; false: it has fewer.
func cutStory(t *testing.T, n int, first, then func(*rig) spec.Service, want Reason) bool {
	t.Helper()
	st, closeStore := freshStore(t)
	defer closeStore()
	r := newRig(t, st, "shop", "web")
	defer r.engine.Close()
	c := &cutter{}
	r.vault = rigSecrets{"shop/TOKEN": {"hunter2"}, "shop/config": {"a: 1"}}
	r.apply(first(r))
	if then != nil {
		r.settle(40, time.Minute)
		r.apply(then(r))
	}
	c.arm(r, n)
	if !untilCut(r, c) {
		return false
	}
	r.settle(50, 5*time.Minute)
	if got := r.ready(); got.Reason != string(want) || got.Status != reconcile.True {
		t.Fatalf("cut %d: %+v; %s; attempt %+v", n, got, r.describe(), r.attempt())
	}
	d, err := r.store.GetActiveRelease(context.Background(), r.service)
	if err != nil {
		t.Fatalf("cut %d: %v", n, err)
	}
	if got, want := len(r.engine.Containers()), d.Replicas*len(r.serving(d.ReleaseID).Spec.Members()); got != want {
		t.Fatalf("cut %d: %d containers for %d replicas: %s", n, got, d.Replicas, r.describe())
	}
	files := 0
	for _, m := range r.serving(d.ReleaseID).Spec.Members() {
		files += min(len(m.Files), 1) * d.Replicas // they are of one directory
	}
	if vols := r.fileVolumes(); len(vols) != files {
		t.Fatalf("cut %d: file volumes %+v, want %d", n, vols, files)
	}
	if o := r.engine.WritersOverlap(); len(o) > 0 {
		t.Fatalf("cut %d: two writers: %+v", n, o)
	}
	return true
}

func TestADeletionCutAnywhereEndsWithNothingLeft(t *testing.T) {
	for n := 1; ; n += cutStride {
		if !cutDeletion(t, n) {
			t.Logf("%d cut points", n-1)
			if n < 8 {
				t.Errorf("only %d cut points: the cutter misses effects", n-1)
			}
			return
		}
	}
}

func cutDeletion(t *testing.T, n int) bool {
	t.Helper()
	st, closeStore := freshStore(t)
	defer closeStore()
	r := newRig(t, st, "shop", "web")
	defer r.engine.Close()
	r.apply(r.spec("good:1", withReplicas(2)))
	r.settle(40, time.Minute)
	ctx := context.Background()
	_, err := r.store.ApplyChange(ctx, store.Change{
		AppID: "shop", Kind: store.AttemptDelete, Now: r.clock.Now(), Delete: []string{r.service}, DeleteApp: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{}
	c.arm(r, n)
	struck := false
	for range 200 {
		done, wasCut := finalizePass(r)
		struck = struck || wasCut
		if done {
			break
		}
		r.sync()
		r.clock.Advance(200 * time.Millisecond)
	}
	if got := r.engine.Containers(); len(got) > 0 {
		t.Fatalf("cut %d: left over: %s", n, r.describe())
	}
	nets, err := r.engine.ListNetworks(ctx, map[string]string{docker.LabelInstance: rigInstance})
	if err != nil || len(nets) > 0 {
		t.Fatalf("cut %d: networks %v, %v", n, nets, err)
	}
	if _, err := r.store.GetApp(ctx, "shop"); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("cut %d: the app is still there: %v", n, err)
	}
	return struck
}

func finalizePass(r *rig) (done, wasCut bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(cut); !ok {
				panic(p)
			}
			r.memory, wasCut = NewMemory(nil), true
		}
	}()
	f := NewDeleteFinalizer(r.store, func(string) (docker.Runtime, error) { return r.engine, nil }, nil,
		WithInstanceID(rigInstance), WithMemory(r.memory), WithClock(r.clock.Now), WithIngressView(r.plane.view), WithPuller(r.puller()))
	res, err := f.Reconcile(context.Background())
	return err == nil && res.Conditions[0].Reason == string(ReasonNothingToDo), false
}
