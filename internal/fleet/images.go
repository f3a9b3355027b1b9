package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
)

// Image implements docker.Runtime: it is present once every node of the placement has it,
// under one id. What was built on this machine is what its name means everywhere; a node
// that has something else of that name does not have it yet.
func (v *view) Image(ctx context.Context, ref string) (*docker.Image, error) {
	nodes := v.placed()
	if len(nodes) == 0 {
		nodes = []string{""}
	}
	f := v.f
	r := f.roll(nodes...)
	if len(nodes) == 1 && nodes[0] == "" {
		return f.o.Local.Image(ctx, ref)
	}
	want, missing, err := f.whereabouts(ctx, r, nodes, ref)
	switch {
	case err != nil:
		return nil, err
	case want == nil:
		return nil, fmt.Errorf("image %s is on none of the nodes: %w", ref, docker.ErrImageNotFound)
	case len(missing) > 0:
		return nil, fmt.Errorf("image %s is not on %s: %w", ref, called(missing[0]), docker.ErrImageNotFound)
	}
	return &want.Image, nil
}

// wanted is the image that a reference means, and the nodes that have it.
type wanted struct {
	docker.Image
	nodes []string
}

// whereabouts finds out which image is meant and which nodes of a placement lack it. nil:
// none of them has any, though this machine may.
func (f *Fleet) whereabouts(ctx context.Context, r *roll, nodes []string, ref string) (*wanted, []string, error) {
	for _, id := range nodes {
		if _, err := f.reach(r, id); err != nil {
			return nil, nil, fmt.Errorf("look for image %s: %w", ref, err)
		}
	}
	asked := nodes
	if !slices.Contains(nodes, "") {
		asked = append([]string{""}, nodes...)
	}
	have, err := f.images(ctx, asked, ref)
	if err != nil {
		return nil, nil, err
	}
	var want *wanted
	if img := have[""]; img != nil && built(img) {
		want = &wanted{Image: *img, nodes: []string{""}}
	}
	for _, id := range nodes {
		img := have[id]
		switch {
		case img == nil:
		case want == nil:
			want = &wanted{Image: *img, nodes: []string{id}}
		case img.ID == want.ID:
			want.add(id, img)
		case built(&want.Image) && want.nodes[0] == "": // an older one of the name
		default:
			return nil, nil, fmt.Errorf("image %s is %s on %s and %s on %s; remove it from one of them, or name it by its digest: %w",
				ref, want.ID, called(want.nodes[0]), img.ID, called(id), docker.ErrConflict)
		}
	}
	if want == nil {
		return nil, nodes, nil
	}
	missing := slices.DeleteFunc(slices.Clone(nodes), func(id string) bool { return slices.Contains(want.nodes, id) })
	if len(missing) == 0 || ref == want.ID {
		return want, missing, nil
	}
	// Copies know neither every name nor the digest.
	byID, err := f.images(ctx, missing, want.ID)
	if err != nil {
		return nil, nil, err
	}
	for id, img := range byID {
		want.add(id, img)
	}
	missing = slices.DeleteFunc(missing, func(id string) bool { return byID[id] != nil })
	return want, missing, nil
}

// built reports whether no registry is known to have an image.
func built(img *docker.Image) bool { return len(img.Digests) == 0 }

// add notes a node that has it, and by what names.
func (w *wanted) add(id string, img *docker.Image) {
	if slices.Contains(w.nodes, id) {
		return
	}
	w.nodes = append(w.nodes, id)
	w.Digests, w.Tags = union(w.Digests, img.Digests), union(w.Tags, img.Tags)
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// images asks nodes for an image; those that lack it are not in the answer.
func (f *Fleet) images(ctx context.Context, nodes []string, ref string) (map[string]*docker.Image, error) {
	out := map[string]*docker.Image{}
	for _, a := range ask(ctx, f, nodes, func(ctx context.Context, _ string, rt docker.Runtime) (*docker.Image, error) {
		return rt.Image(ctx, ref)
	}) {
		switch {
		case a.err == nil:
			out[a.node] = a.value
		case !docker.IsImageNotFound(a.err):
			return nil, a.err
		}
	}
	return out, nil
}

// unique reports whether a reference means one image for ever: an id or a digest.
func unique(ref string) bool { return strings.HasPrefix(ref, "sha256:") || strings.Contains(ref, "@") }

// moved is the name by which an image is copied: its tag goes with it, a digest cannot.
func moved(ref, id string) string {
	if unique(ref) {
		return id
	}
	return ref
}
