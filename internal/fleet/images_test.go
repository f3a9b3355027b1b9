package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/fleet"
	"github.com/berth-cloud/berth/internal/store"
)

// imageOn is the id of what a name means on an engine, or "".
func (r *rig) imageOn(id, ref string) string {
	r.t.Helper()
	img, err := r.engine(id).Image(r.ctx, ref)
	if docker.IsImageNotFound(err) {
		return ""
	}
	r.must(err)
	return img.ID
}

func (r *rig) wantImage(p store.Placement, ref, id string) {
	r.t.Helper()
	img, err := r.For(p).Image(r.ctx, ref)
	if err != nil || img.ID != id {
		r.t.Errorf("image %s: %+v, %v, want %s", ref, img, err, id)
	}
}

func TestAnImageThatOnlyThisMachineHasIsCopiedToWhereItIsNeeded(t *testing.T) {
	r := newRig(t, "n1", "n2", "n3")
	p := on("n1", "n2")
	r.here.AddImage("mine:1", docker.Image{ID: "sha256:mine", SizeBytes: 9 << 20}, dockertest.Behaviour{})
	rt := r.For(p)
	_, err := rt.Image(r.ctx, "mine:1")
	wantErr(t, err, docker.ErrImageNotFound)
	var steps []docker.PullProgress
	r.must(rt.Pull(r.ctx, "mine:1", nil, func(s docker.PullProgress) { steps = append(steps, s) }))
	r.wantImage(p, "mine:1", "sha256:mine")
	for id, want := range map[string]string{"n1": "sha256:mine", "n2": "sha256:mine", "n3": ""} {
		if got := r.imageOn(id, "mine:1"); got != want {
			t.Errorf("%s has %q", id, got)
		}
	}
	if len(steps) < 2 || !strings.Contains(steps[0].Status, "n1") || steps[0].Current == 0 || steps[0].Total < steps[0].Current {
		t.Errorf("progress %+v", steps)
	}
	spec := replica(1)
	spec.Image = "sha256:mine"
	_, err = rt.Create(r.ctx, spec)
	r.must(err)
}

func TestAnImageThatWasBuiltAnewReplacesTheOneOfItsName(t *testing.T) {
	r := newRig(t, "n1")
	p := on("n1")
	for _, id := range []string{"sha256:first", "sha256:second"} {
		r.here.AddImage("mine:1", docker.Image{ID: id}, dockertest.Behaviour{})
		if _, err := r.For(p).Image(r.ctx, "mine:1"); !docker.IsImageNotFound(err) {
			t.Errorf("before %s is copied: %v", id, err)
		}
		r.must(r.For(p).Pull(r.ctx, "mine:1", nil, nil))
		r.wantImage(p, "mine:1", id)
	}
	r.wantImage(p, "sha256:first", "sha256:first")
}

func TestAnImageOfARegistryIsPulledOnceAndCopied(t *testing.T) {
	r := newRig(t, "n1", "n2")
	p := on("n1", "n2")
	auth := docker.RegistryAuth{Username: "u", Password: "p"}
	for _, id := range []string{"n1", "n2"} {
		r.engine(id).AddRemote("reg.test/app:1", dockertest.Remote{Auth: &auth, Image: docker.Image{ID: "sha256:" + id}})
	}
	wantErr(t, r.For(p).Pull(r.ctx, "reg.test/app:1", nil, nil), docker.ErrUnauthorized, "n1")
	r.must(r.For(p).Pull(r.ctx, "reg.test/app:1", &auth, nil))
	img, err := r.For(p).Image(r.ctx, "reg.test/app:1")
	if err != nil || img.ID != "sha256:n1" || len(img.Digests) != 1 {
		t.Fatalf("%+v, %v", img, err)
	}
	r.wantImage(p, img.Digests[0], "sha256:n1")
	if n := r.engine("n2").CallCount(dockertest.CallPull); n > 0 {
		t.Errorf("n2 pulled %d times", n)
	}
}

func TestADigestIsTakenFromAnyNodeAndATagOnlyFromHere(t *testing.T) {
	r := newRig(t, "n1", "n2")
	digest := "reg.test/app@sha256:" + strings.Repeat("a", 64)
	r.engine("n2").AddImage(digest, docker.Image{ID: "sha256:x"}, dockertest.Behaviour{})
	r.engine("n2").AddImage("reg.test/app:1", docker.Image{ID: "sha256:x"}, dockertest.Behaviour{})
	wantErr(t, r.For(on("n1")).Pull(r.ctx, "reg.test/app:1", nil, nil), docker.ErrImageNotFound, "n1")
	r.must(r.For(on("n1")).Pull(r.ctx, digest, nil, nil))
	if got := r.imageOn("n1", "sha256:x"); got == "" {
		t.Error("it is not there")
	}
}

func TestANameThatMeansTwoThingsIsAnErrorThatSaysWhat(t *testing.T) {
	r := newRig(t, "n1", "n2")
	p := on("n1", "n2")
	for _, id := range []string{"n1", "n2"} {
		digest := "reg.test/app@sha256:" + strings.Repeat(id[1:], 64)
		r.engine(id).AddImage("reg.test/app:1", docker.Image{ID: "sha256:" + id, Digests: []string{digest}}, dockertest.Behaviour{})
	}
	_, err := r.For(p).Image(r.ctx, "reg.test/app:1")
	wantErr(t, err, docker.ErrConflict, "sha256:n1 on node n1", "sha256:n2 on node n2")
	wantErr(t, r.For(p).Pull(r.ctx, "reg.test/app:1", nil, nil), docker.ErrConflict)
}

func TestANodeThatIsOfflineLeavesTheImageOpen(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.set("n1", false)
	_, err := r.For(on("n1", "n2")).Image(r.ctx, image)
	wantErr(t, err, docker.ErrUnavailable, "n1")
	wantErr(t, r.For(on("n1", "n2")).Pull(r.ctx, image, nil, nil), docker.ErrUnavailable, "n1")
	r.wantImage(on("n2"), image, "sha256:app")
}

func TestACopyThatBreaksLeavesNothingAndTheNextTryDoes(t *testing.T) {
	broken := errors.New("broken")
	for what, fault := range map[string]struct {
		on string
		f  dockertest.Fault
	}{
		"the save fails in its midst": {"", dockertest.Fault{Call: dockertest.CallSaveImage, Kind: dockertest.FailAfter, Err: broken}},
		"the save fails at once":      {"", dockertest.Fault{Call: dockertest.CallSaveImage, Kind: dockertest.FailBefore, Err: broken}},
		"the save ends early":         {"", dockertest.Fault{Call: dockertest.CallSaveImage, Kind: dockertest.LieOnce}},
		"the load fails":              {"n1", dockertest.Fault{Call: dockertest.CallLoadImage, Kind: dockertest.FailBefore, Err: broken}},
		"the load does nothing":       {"n1", dockertest.Fault{Call: dockertest.CallLoadImage, Kind: dockertest.LieOnce}},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, "n1")
			r.here.AddImage("mine:1", docker.Image{ID: "sha256:mine", SizeBytes: 1 << 20}, dockertest.Behaviour{})
			r.engine(fault.on).Script(fault.f)
			err := r.For(on("n1")).Pull(r.ctx, "mine:1", nil, nil)
			if err == nil || fault.f.Err != nil && !errors.Is(err, broken) || !strings.Contains(err.Error(), "node n1") {
				t.Errorf("error %v", err)
			}
			if got := r.imageOn("n1", "mine:1") + r.imageOn("n1", "sha256:mine"); got != "" {
				t.Errorf("n1 has %q", got)
			}
			r.must(r.For(on("n1")).Pull(r.ctx, "mine:1", nil, nil))
			r.wantImage(on("n1"), "mine:1", "sha256:mine")
		})
	}
}

func TestACopyEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOn(t, dockertest.NewWallClock(), nil, "n1")
		r.here.AddImage("mine:1", docker.Image{ID: "sha256:mine"}, dockertest.Behaviour{})
		for id, call := range map[string]dockertest.Call{"": dockertest.CallSaveImage, "n1": dockertest.CallLoadImage} {
			r.engine(id).Script(dockertest.Fault{Call: call, Kind: dockertest.Hang})
			ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
			err := r.For(on("n1")).Pull(ctx, "mine:1", nil, nil)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s hangs: %v", call, err)
			}
		}
	})
}

func TestAnImageOfAnotherArchitectureIsNotCopied(t *testing.T) {
	r := newRig(t, "n1")
	r.here.AddImage("mine:1", docker.Image{ID: "sha256:mine", Architecture: "riscv64"}, dockertest.Behaviour{})
	wantErr(t, r.For(on("n1")).Pull(r.ctx, "mine:1", nil, nil), docker.ErrImageNotFound, "n1")
	if got := r.imageOn("n1", "sha256:mine"); got != "" {
		t.Error("it was copied")
	}
}

// As when an app is placed on a node that never had its image, which nothing but an
// engine of ours has.
func TestACreateBringsTheImageThatANodeLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOn(t, dockertest.NewWallClock(), nil, "n1", "n2")
		r.engine("n2").AddImage("mine:1", docker.Image{ID: "sha256:mine"}, dockertest.Behaviour{})
		spec := replica(0)
		spec.Image = "sha256:mine"
		rt := r.For(on("n1"))
		broken := errors.New("broken")
		r.engine("n2").Script(dockertest.Fault{Call: dockertest.CallSaveImage, Kind: dockertest.FailAfter, Err: broken})
		for _, want := range []error{docker.ErrUnavailable, broken, docker.ErrUnavailable, nil} {
			_, err := rt.Create(r.ctx, spec)
			if !errors.Is(err, want) {
				t.Fatalf("error %v, want %v", err, want)
			}
			synctest.Wait()
		}
		spec = replica(1)
		spec.Image = "sha256:nobody-has-it"
		_, err := rt.Create(r.ctx, spec)
		wantErr(t, err, docker.ErrImageNotFound, "n1")
	})
}

func TestWhatIsPlacedHereIsLookedForHereOnly(t *testing.T) {
	r := newRig(t, "n1")
	r.engine("n1").AddImage("theirs:1", docker.Image{}, dockertest.Behaviour{})
	_, err := r.For(on("")).Image(r.ctx, "theirs:1")
	wantErr(t, err, docker.ErrImageNotFound)
	wantErr(t, r.For(on("")).Pull(r.ctx, "theirs:1", nil, nil), docker.ErrImageNotFound)
	if !slices.Equal(r.others.dialled, nil) || r.engine("n1").CallCount(dockertest.CallImage) > 0 {
		t.Error("n1 was asked")
	}
}

// An engine that moves no images pulls them itself.
func TestWhereNothingCanBeCopiedTheNodePulls(t *testing.T) {
	r := newRig(t, "n1")
	r.here.AddImage("reg.test/app:1", docker.Image{ID: "sha256:x"}, dockertest.Behaviour{})
	r.engine("n1").AddRemote("reg.test/app:1", dockertest.Remote{Image: docker.Image{ID: "sha256:x"}})
	r.open(func(o *fleet.Options) { o.Local = struct{ docker.Runtime }{r.here} })
	r.must(r.For(on("n1")).Pull(r.ctx, "reg.test/app:1", nil, nil))
	r.wantImage(on("n1"), "reg.test/app:1", "sha256:x")
}

// tailed writes more than an archive and reads no more than one, as engines may.
type tailed struct{ *dockertest.Engine }

func (e tailed) SaveImage(ctx context.Context, ref string, w io.Writer) error {
	err := e.Engine.SaveImage(ctx, ref, w)
	for i := 0; err == nil && i < 100; i++ {
		_, err = w.Write(make([]byte, 1<<10))
	}
	return err
}

func (e tailed) LoadImage(ctx context.Context, r io.Reader) error {
	var archive bytes.Buffer
	for step := make([]byte, 1<<10); !bytes.HasSuffix(archive.Bytes(), []byte("end\n")); {
		n, err := r.Read(step)
		archive.Write(step[:n])
		if err != nil {
			return err
		}
	}
	return e.Engine.LoadImage(ctx, &archive)
}

func TestWhatNobodyReadsOfAnArchiveIsNoFailure(t *testing.T) {
	r := newRig(t, "n1")
	r.here.AddImage("mine:1", docker.Image{ID: "sha256:mine", SizeBytes: 5 << 10}, dockertest.Behaviour{})
	r.open(func(o *fleet.Options) { o.Local = tailed{r.here} })
	n1 := r.engine("n1")
	r.others.wrap = func(docker.Runtime) docker.Runtime { return tailed{n1} }
	r.must(r.For(on("n1")).Pull(r.ctx, "mine:1", nil, nil))
	r.wantImage(on("n1"), "mine:1", "sha256:mine")
}
