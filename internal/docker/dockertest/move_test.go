package dockertest_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
)

func TestAnImageMovesToAnotherEngineOfOneClockAndBehavesThere(t *testing.T) {
	w := newWorld(t)
	other := dockertest.New(w.clock, dockertest.WithSeed("other"))
	im := w.AddImage("app:1", docker.Image{SizeBytes: 100 << 10}, dockertest.Behaviour{Exec: func(dockertest.ExecRun) dockertest.ExecOutcome {
		return dockertest.ExecOutcome{Code: 3}
	}})
	other.AddImage("app:1", docker.Image{}, dockertest.Behaviour{})
	var archive bytes.Buffer
	w.must(w.SaveImage(w.ctx, "app:1", &archive))
	w.must(other.LoadImage(w.ctx, &archive))
	got, err := other.Image(w.ctx, "app:1")
	w.must(err)
	if got.ID != im.ID || !slices.Equal(got.Tags, []string{"app:1"}) {
		t.Errorf("the tag leads to %+v", got)
	}
	_, err = other.Create(w.ctx, docker.ContainerSpec{Name: "c0", Image: "app:1"})
	w.must(err)
	w.must(other.Start(w.ctx, "c0"))
	if code, err := other.Exec(w.ctx, "c0", anyCommand); code != 3 || err != nil {
		t.Errorf("code %d, %v", code, err)
	}
}

func TestAnImageThatIsMovedByIDHasNoName(t *testing.T) {
	w := newWorld(t)
	other := dockertest.New(w.clock, dockertest.WithSeed("other"))
	im := w.AddImage("app:1", docker.Image{}, dockertest.Behaviour{})
	var archive bytes.Buffer
	w.must(w.SaveImage(w.ctx, im.ID, &archive))
	w.must(other.LoadImage(w.ctx, &archive))
	if got, err := other.Image(w.ctx, im.ID); err != nil || len(got.Tags) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := other.Image(w.ctx, "app:1"); !docker.IsImageNotFound(err) {
		t.Error(err)
	}
}

func TestASaveThatBreaksLeavesHalfAnArchive(t *testing.T) {
	w := newWorld(t)
	w.AddImage("app:1", docker.Image{SizeBytes: 100 << 10}, dockertest.Behaviour{})
	for _, kind := range []dockertest.FaultKind{dockertest.FailAfter, dockertest.LieOnce} {
		w.Script(dockertest.Fault{Call: dockertest.CallSaveImage, Kind: kind})
		var archive bytes.Buffer
		err := w.SaveImage(w.ctx, "app:1", &archive)
		if (err == nil) != (kind == dockertest.LieOnce) || err != nil && !errors.Is(err, docker.ErrUnavailable) {
			t.Errorf("%s: %v", kind, err)
		}
		if archive.Len() == 0 {
			t.Errorf("%s: nothing was written", kind)
		}
		if err := w.LoadImage(w.ctx, &archive); err == nil {
			t.Errorf("%s: half an archive was loaded", kind)
		}
	}
}
