package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
)

// known is the node that has a container by what was seen.
func (v *view) known(r *roll, ref string) (id string, ok bool) {
	if ref == "" {
		return "", false
	}
	f := v.f
	var nodes []string
	var labels map[string]string
	f.mu.Lock()
	for _, id := range r.ids {
		if s := r.find(id, ref); s != nil {
			nodes, labels = append(nodes, id), s.state.Labels
		}
	}
	f.mu.Unlock()
	if len(nodes) == 0 {
		return "", false
	}
	return f.keeper(nodes, labels), true
}

// search asks all nodes that may have a container. It is docker.ErrNotFound only when
// every one of them said so.
func (v *view) search(ctx context.Context, r *roll, ref string) (*docker.ContainerState, error) {
	f := v.f
	var asked, silent []string
	for _, id := range r.ids {
		might := v.mightHave(r, id, ref)
		switch {
		case r.stands(id) == online && (might || len(v.nodes) == 0 || slices.Contains(v.nodes, id)):
			asked = append(asked, id)
		case r.stands(id) == away && might:
			silent = append(silent, id)
		}
	}
	var found []*docker.ContainerState
	var nodes []string
	var failed error
	for _, a := range ask(ctx, f, asked, func(ctx context.Context, _ string, rt docker.Runtime) (*docker.ContainerState, error) {
		return rt.Inspect(ctx, ref)
	}) {
		switch {
		case a.err == nil:
			a.value.Node = a.node
			f.learn(a.node, *a.value)
			found, nodes = append(found, a.value), append(nodes, a.node)
		case ctx.Err() != nil:
			return nil, a.err
		case docker.IsNotFound(a.err):
			f.notThere(a.node, ref)
		default:
			failed = a.err
		}
	}
	switch {
	case len(found) > 0:
		keeper := f.keeper(nodes, found[0].Labels)
		return found[slices.Index(nodes, keeper)], nil
	case len(silent) > 0:
		return nil, fmt.Errorf("container %s may be on node %s, which is offline: %w", ref, strings.Join(silent, ", "), docker.ErrUnavailable)
	case failed != nil:
		return nil, failed
	}
	return nil, fmt.Errorf("container %s: %w", ref, docker.ErrNotFound)
}

// Inspect implements docker.Runtime.
func (v *view) Inspect(ctx context.Context, ref string) (*docker.ContainerState, error) {
	var out *docker.ContainerState
	err := v.on(ctx, ref, func(id string, rt docker.Runtime) error {
		s, err := rt.Inspect(ctx, ref)
		if err == nil {
			s.Node, out = id, s
			v.f.learn(id, copyOf(s))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// on makes a call on the node that has a container. Where that finds something missing,
// all that may have the container are asked, and the call is made once more.
func (v *view) on(ctx context.Context, ref string, call func(id string, rt docker.Runtime) error) error {
	r := v.roll(ctx)
	if v.alone(r) {
		return call("", v.f.o.Local)
	}
	first, known := v.known(r, ref)
	var missing error
	if known {
		rt, err := v.f.reach(r, first)
		if err != nil {
			return fmt.Errorf("container %s: %w", ref, err)
		}
		if err = told(first, call(first, rt)); !docker.IsNotFound(err) {
			return err
		}
		missing = err
		v.f.notThere(first, ref)
	}
	s, err := v.search(ctx, r, ref)
	switch {
	case docker.IsNotFound(err) && missing != nil:
		return missing
	case err != nil:
		return err
	}
	rt, err := v.f.reach(r, s.Node)
	if err != nil {
		return err
	}
	return told(s.Node, call(s.Node, rt))
}
