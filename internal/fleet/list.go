package fleet

import (
	"context"
	"errors"
	"slices"

	"github.com/berth-cloud/berth/internal/docker"
)

var errOver = errors.New("it is gone, or was given up; what it had has to be placed anew")

// List implements docker.Runtime.
func (v *view) List(ctx context.Context, labels map[string]string) ([]docker.ContainerState, error) {
	r := v.roll(ctx)
	if v.alone(r) {
		return v.f.o.Local.List(ctx, labels)
	}
	nodes := v.concerned(r, labels)
	began := v.f.moment()
	var all []docker.ContainerState
	for _, a := range ask(ctx, v.f, nodes, func(ctx context.Context, _ string, rt docker.Runtime) ([]docker.ContainerState, error) {
		return rt.List(ctx, labels)
	}) {
		switch {
		case a.err == nil:
			for i := range a.value {
				a.value[i].Node = a.node
			}
			v.f.learnList(a.node, labels, a.value, began)
			all = append(all, a.value...)
		case ctx.Err() != nil, a.node == "", !noAnswer(a.err):
			return nil, a.err
		default:
			v.f.o.Logger.WarnContext(ctx, "a node does not list its containers", "node", a.node, "error", a.err)
			all = append(all, r.recall(a.node, labels)...)
		}
	}
	for _, id := range r.ids {
		if r.stands(id) == away || v.rests(r, id) {
			all = append(all, r.recall(id, labels)...)
		}
	}
	return v.f.once(all), nil
}

// noAnswer reports whether an error says no more than that a node did not answer.
func noAnswer(err error) bool {
	return docker.IsUnavailable(err) || errors.Is(err, context.DeadlineExceeded)
}

// concerned are the nodes that are online and are asked for what carries the labels.
func (v *view) concerned(r *roll, labels map[string]string) []string {
	nodes := r.those(online)
	if len(v.nodes) == 0 {
		return nodes
	}
	return slices.DeleteFunc(nodes, func(id string) bool {
		return v.rests(r, id) || !slices.Contains(v.nodes, id) && !v.f.has(id, labels) && v.f.surveyed(id)
	})
}

// surveyed reports whether all that is ours on a node was listed once.
func (f *Fleet) surveyed(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.nodes[id]
	return n != nil && n.complete
}

// rests reports whether a node that the placement does not name is left alone for a
// while, as it did not answer: or it would hold up every pass of every app.
func (v *view) rests(r *roll, id string) bool {
	if len(v.nodes) == 0 || slices.Contains(v.nodes, id) || id == "" || r.stands(id) != online {
		return false
	}
	v.f.mu.Lock()
	defer v.f.mu.Unlock()
	n := v.f.nodes[id]
	return n != nil && n.rests(r.members[id].Since, v.f.o.Now())
}

// once leaves of containers that have one name the one that keeps it. What several nodes
// have is put in order, newest first.
func (f *Fleet) once(all []docker.ContainerState) []docker.ContainerState {
	nodes := map[string][]string{}
	spread := false
	for i := range all {
		nodes[all[i].Name] = append(nodes[all[i].Name], all[i].Node)
		spread = spread || all[i].Node != all[0].Node
	}
	if !spread {
		return all
	}
	all = slices.DeleteFunc(all, func(s docker.ContainerState) bool {
		return len(nodes[s.Name]) > 1 && f.keeper(nodes[s.Name], s.Labels) != s.Node
	})
	slices.SortStableFunc(all, func(a, b docker.ContainerState) int { return b.Created.Compare(a.Created) })
	return all
}
