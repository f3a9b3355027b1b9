package engine_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
)

func TestAnImageOnTheEngineHasAnIdentity(t *testing.T) {
	r := newRig(t)
	opts := []testimage.Option{testimage.Expose("9090/tcp"), testimage.Expose("80/tcp"), testimage.Expose("53/udp")}
	ref := testimage.Build(t, r.socket, "probe", opts...)
	want := testimage.Image(t, "probe", opts...).ID()
	img, err := r.Image(r.ctx(), ref)
	if err != nil {
		t.Fatal(err)
	}
	if img.ID != want || len(img.Digests) != 0 || !slices.Contains(img.Tags, ref) || img.OS != "linux" ||
		img.Architecture == "" || img.SizeBytes == 0 || !slices.Equal(img.ExposedPorts, []int{80, 9090}) {
		t.Errorf("got %+v", img)
	}
	byID, err := r.Image(r.ctx(), want)
	if err != nil || byID.ID != want {
		t.Errorf("by id: %+v, %v", byID, err)
	}
	spec := r.probe("identity", "exit:0")
	spec.Image = ref
	if state := r.inspect(r.create(spec)); state.ImageID != want || state.Image != ref {
		t.Errorf("the container has image %s (%s)", state.ImageID, state.Image)
	}
}

func TestAnAbsentImageIsNotFound(t *testing.T) {
	r := newRig(t)
	for _, ref := range []string{"berth-test/none:1", "berth-test/none@sha256:" + strings.Repeat("a", 64), "sha256:" + strings.Repeat("b", 64)} {
		_, err := r.Image(r.ctx(), ref)
		wantErr(t, err, docker.ErrImageNotFound)
	}
}

func TestANameIsNotTakenForTheBeginningOfAnID(t *testing.T) {
	r := newRig(t)
	id := testimage.Image(t, "probe").ID()
	testimage.Build(t, r.socket, "probe")
	_, err := r.Image(r.ctx(), strings.TrimPrefix(id, "sha256:")[:12])
	wantErr(t, err, docker.ErrImageNotFound)
}

func TestPullFromARegistry(t *testing.T) {
	r := newRig(t)
	reg := testimage.Registry(t)
	built := testimage.Image(t, "probe", testimage.Label("test", r.prefix))
	ref, digest := reg.Push(t, r.prefix+"/app:1", built)
	byDigest := strings.TrimSuffix(ref, ":1") + "@" + digest
	t.Cleanup(func() {
		testimage.Remove(t, r.socket, ref)
		testimage.Remove(t, r.socket, byDigest)
	})
	var layers []string
	err := r.Pull(r.ctx(), ref, nil, func(p docker.PullProgress) { layers = append(layers, p.Layer) })
	if err != nil || len(layers) == 0 {
		t.Fatalf("pull: %v after %d steps", err, len(layers))
	}
	img, err := r.Image(r.ctx(), ref)
	if err != nil || img.ID != built.ID() || !slices.Contains(img.Digests, byDigest) {
		t.Errorf("pulled %+v, %v", img, err)
	}
	if err := r.Pull(r.ctx(), byDigest, nil, nil); err != nil {
		t.Errorf("pull by digest: %v", err)
	}
	if img, err = r.Image(r.ctx(), byDigest); err != nil || img.ID != built.ID() {
		t.Errorf("by digest: %+v, %v", img, err)
	}
	wantErr(t, r.Pull(r.ctx(), strings.TrimSuffix(ref, "1")+"2", nil, nil), docker.ErrImageNotFound)
	wantErr(t, r.Pull(r.ctx(), reg.Host+"/"+r.prefix+"/none:1", nil, nil), docker.ErrImageNotFound)
	wantErr(t, r.Pull(r.ctx(), strings.TrimSuffix(ref, ":1")+"@sha256:"+strings.Repeat("c", 64), nil, nil), docker.ErrImageNotFound)
}

func TestPullWithCredentials(t *testing.T) {
	r := newRig(t)
	reg := testimage.RegistryWithAuth(t, "ferry", "s3cret word")
	ref, _ := reg.Push(t, r.prefix+"/app:1", testimage.Image(t, "probe", testimage.Label("test", r.prefix+"-auth")))
	t.Cleanup(func() { testimage.Remove(t, r.socket, ref) })
	wantErr(t, r.Pull(r.ctx(), ref, nil, nil), docker.ErrUnauthorized)
	wrong := &docker.RegistryAuth{Username: "ferry", Password: "wrong-s3cret", ServerAddress: reg.Host}
	err := r.Pull(r.ctx(), ref, wrong, nil)
	wantErr(t, err, docker.ErrUnauthorized)
	if err != nil && strings.Contains(err.Error(), wrong.Password) {
		t.Errorf("the error tells the password: %v", err)
	}
	right := &docker.RegistryAuth{Username: reg.Username, Password: reg.Password, ServerAddress: reg.Host}
	if err := r.Pull(r.ctx(), ref, right, nil); err != nil {
		t.Errorf("with the right credentials: %v", err)
	}
}

func TestAPullEndsWithItsContext(t *testing.T) {
	r := newRig(t)
	reg := testimage.Registry(t)
	img := testimage.Image(t, "probe", testimage.Label("test", r.prefix+"-slow"))
	ref, _ := reg.Push(t, r.prefix+"/slow:1", img)
	t.Cleanup(func() { testimage.Remove(t, r.socket, img.ID()) })
	ctx, cancel := context.WithCancel(r.ctx())
	defer cancel()
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	reg.Gate(func(req *http.Request) {
		if strings.Contains(req.URL.Path, "/blobs/") {
			cancel()
			<-over
			panic(http.ErrAbortHandler) // the engine gets nothing it could keep
		}
	})
	err := r.Pull(ctx, ref, nil, nil)
	if !errors.Is(err, context.Canceled) || docker.IsUnavailable(err) {
		t.Errorf("got %v", err)
	}
}
