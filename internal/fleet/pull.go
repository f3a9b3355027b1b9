package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/internal/docker"
)

// Pull implements docker.Runtime: for each node of the placement that lacks the image it
// is copied from one that has it, this machine first, else pulled there once and copied
// to the others, so that they all have the same.
func (v *view) Pull(ctx context.Context, ref string, auth *docker.RegistryAuth, progress func(docker.PullProgress)) error {
	nodes := v.placed()
	if len(nodes) == 0 || len(nodes) == 1 && nodes[0] == "" {
		return v.f.o.Local.Pull(ctx, ref, auth, progress)
	}
	f := v.f
	r := f.roll(nodes...)
	want, missing, err := f.whereabouts(ctx, r, nodes, ref)
	if err == nil && want == nil {
		want, err = f.source(ctx, r, nodes, ref)
	}
	if err != nil {
		return err
	}
	if want == nil {
		if want, err = f.pullOnce(ctx, nodes[0], ref, auth, progress); err != nil {
			return err
		}
		missing = nodes[1:]
	}
	for _, id := range missing {
		err := f.carry(ctx, r, want, ref, id, progress)
		if errors.Is(err, errNoSource) {
			err = f.pullSame(ctx, want, id, ref, auth, progress)
		}
		if err != nil {
			return err
		}
		want.nodes = append(want.nodes, id)
	}
	return nil
}

// source finds an image that none of the placement's nodes has: on this machine, and by
// id or digest, which mean one image only, on any node.
func (f *Fleet) source(ctx context.Context, r *roll, nodes []string, ref string) (*wanted, error) {
	asked := []string{""}
	if unique(ref) {
		asked = slices.DeleteFunc(r.those(online), func(id string) bool { return slices.Contains(nodes, id) && remote(id) })
	}
	var want *wanted
	for _, a := range ask(ctx, f, asked, func(ctx context.Context, _ string, rt docker.Runtime) (*docker.Image, error) {
		return rt.Image(ctx, ref)
	}) {
		switch {
		case a.err == nil && want == nil:
			want = &wanted{Image: *a.value, nodes: []string{a.node}}
		case a.err == nil && a.value.ID == want.ID:
			want.add(a.node, a.value)
		case a.err != nil && (ctx.Err() != nil || a.node == "" && !docker.IsImageNotFound(a.err)):
			return nil, a.err
		}
	}
	return want, nil
}

// pullOnce has the first of the nodes pull the image.
func (f *Fleet) pullOnce(ctx context.Context, id, ref string, auth *docker.RegistryAuth, progress func(docker.PullProgress)) (*wanted, error) {
	rt, err := f.engine(id)
	if err != nil {
		return nil, err
	}
	if err := rt.Pull(ctx, ref, auth, progress); err != nil {
		return nil, told(id, err)
	}
	img, err := rt.Image(ctx, ref)
	if docker.IsImageNotFound(err) {
		return nil, fmt.Errorf("image %s was pulled on %s and is not there: %w", ref, called(id), docker.ErrUnavailable)
	}
	if err != nil {
		return nil, told(id, err)
	}
	return &wanted{Image: *img, nodes: []string{id}}, nil
}

// pullSame has another node pull it too, where it cannot be copied. A tag that leads to
// something else by now is an error.
func (f *Fleet) pullSame(ctx context.Context, want *wanted, id, ref string, auth *docker.RegistryAuth, progress func(docker.PullProgress)) error {
	got, err := f.pullOnce(ctx, id, ref, auth, progress)
	if err != nil {
		return err
	}
	if got.ID != want.ID {
		return fmt.Errorf("image %s is %s on %s and %s on %s; name it by its digest, and see that the nodes are of one architecture: %w",
			ref, want.ID, called(want.nodes[0]), got.ID, called(id), docker.ErrConflict)
	}
	return nil
}
