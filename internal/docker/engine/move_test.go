package engine_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
)

func TestAnImageComesBackFromItsArchiveAndHalfOfOneLeavesNothing(t *testing.T) {
	r := newRig(t)
	ref := testimage.Build(t, r.socket, "probe", testimage.Label("moved", r.prefix))
	t.Cleanup(func() { testimage.Remove(t, r.socket, ref) })
	before, err := r.Image(r.ctx(), ref)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := r.SaveImage(r.ctx(), ref, &archive); err != nil {
		t.Fatal(err)
	}
	testimage.Remove(t, r.socket, ref)
	for _, n := range []int{1 << 10, archive.Len() / 2, archive.Len() * 9 / 10} {
		if err := r.LoadImage(r.ctx(), bytes.NewReader(archive.Bytes()[:n])); err == nil {
			t.Errorf("%d of %d bytes were loaded", n, archive.Len())
		}
		for _, name := range []string{ref, before.ID} {
			_, err := r.Image(r.ctx(), name)
			wantErr(t, err, docker.ErrImageNotFound)
		}
	}
	if err := r.LoadImage(r.ctx(), &archive); err != nil {
		t.Fatal(err)
	}
	after, err := r.Image(r.ctx(), ref)
	if err != nil || after.ID != before.ID || !slices.Equal(after.Tags, before.Tags) {
		t.Errorf("it is %+v (%v), and was %+v", after, err, before)
	}
}
