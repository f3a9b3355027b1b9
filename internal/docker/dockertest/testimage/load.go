package testimage

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

const loadTimeout = time.Minute

// Build makes sure that the engine behind socket has the image of the program
// test/images/<program> and returns its reference, "berth-test/<program>:<hash
// of all it is made of>". An image that is there already costs one lookup, and
// images stay behind for that.
func Build(t testing.TB, socket, program string, opts ...Option) string {
	t.Helper()
	s := newSpec(t, program, opts)
	ref := s.ref(t)
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	cli := dial(t, socket)
	defer cli.Close()
	_, err := cli.ImageInspect(ctx, ref)
	if err == nil {
		return ref
	}
	if !errdefs.IsNotFound(err) {
		t.Fatalf("test image %s: %v", ref, err)
	}
	res, err := cli.ImageLoad(ctx, bytes.NewReader(s.build(t).archive(t, ref)), client.ImageLoadWithQuiet(true))
	if err != nil {
		t.Fatalf("load test image %s: %v", ref, err)
	}
	defer res.Close()
	said, err := io.ReadAll(res)
	if err == nil {
		_, err = cli.ImageInspect(ctx, ref)
	}
	if err != nil {
		t.Fatalf("load test image %s: %v\n%s", ref, err, said)
	}
	return ref
}

// Remove takes an image off the engine, by reference or id; a missing one is
// fine. Tests that pull call it in their clean-up.
func Remove(t testing.TB, socket, ref string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	cli := dial(t, socket)
	defer cli.Close()
	if _, err := cli.ImageRemove(ctx, ref, client.ImageRemoveOptions{}); err != nil && !errdefs.IsNotFound(err) {
		t.Errorf("remove image %s: %v", ref, err)
	}
}

func dial(t testing.TB, socket string) *client.Client {
	t.Helper()
	cli, err := client.New(client.WithHost("unix://" + socket))
	if err != nil {
		t.Fatalf("engine at %s: %v", socket, err)
	}
	return cli
}
