package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
)

// EnsureVolume implements docker.Runtime, on the nodes of the placement. A volume with
// the files of one container of a spread is left to its Create: only that knows the node.
// A volume that is on another node is not made anew, empty, on this one.
func (v *view) EnsureVolume(ctx context.Context, spec docker.VolumeSpec) error {
	r := v.roll(ctx)
	if v.alone(r) {
		return v.f.o.Local.EnsureVolume(ctx, spec)
	}
	home := v.home(spec.Labels)
	files := spec.Labels[docker.LabelFiles] != ""
	if len(home) > 1 && files {
		return nil
	}
	home = slices.Clone(home) // whose order says which replica is where
	slices.Sort(home)
	for _, id := range slices.Compact(home) {
		rt, err := v.f.reach(r, id)
		if err == nil && !files {
			err = v.f.strange(ctx, r, id, rt, spec.Name)
		}
		if err == nil {
			err = v.f.ensureVolume(ctx, id, rt, spec)
		}
		if err != nil {
			return fmt.Errorf("volume %s: %w", spec.Name, err)
		}
	}
	return nil
}

func (f *Fleet) ensureVolume(ctx context.Context, id string, rt docker.Runtime, spec docker.VolumeSpec) error {
	err := rt.EnsureVolume(ctx, spec)
	if err == nil {
		f.mu.Lock()
		f.node(id).volumes[spec.Name] = docker.Volume{Name: spec.Name, Labels: maps.Clone(spec.Labels), Created: f.o.Now()}
		f.mu.Unlock()
	}
	return told(id, err)
}

// fileVolumes makes the volumes with the container's files, where it is made.
func (f *Fleet) fileVolumes(ctx context.Context, id string, rt docker.Runtime, spec *docker.ContainerSpec) error {
	for _, m := range spec.Mounts {
		labels := spec.VolumeLabels[m.Volume]
		if m.Volume == "" || labels[docker.LabelFiles] != spec.Name {
			continue
		}
		if err := f.ensureVolume(ctx, id, rt, docker.VolumeSpec{Name: m.Volume, Labels: labels}); err != nil {
			return fmt.Errorf("volume %s: %w", m.Volume, err)
		}
	}
	return nil
}

// strange refuses to make a volume on a node that another one has.
func (f *Fleet) strange(ctx context.Context, r *roll, id string, rt docker.Runtime, name string) error {
	f.mu.Lock()
	_, known := f.node(id).volumes[name]
	f.mu.Unlock()
	if known {
		return nil
	}
	there, err := hasVolume(ctx, rt, name)
	if err != nil || there {
		return told(id, err)
	}
	others := slices.DeleteFunc(r.those(online), func(other string) bool { return other == id })
	for _, a := range ask(ctx, f, others, func(ctx context.Context, _ string, rt docker.Runtime) (bool, error) { return hasVolume(ctx, rt, name) }) {
		if a.value {
			return fmt.Errorf("it is on %s, and is not made anew, empty, on %s: %w", called(a.node), called(id), docker.ErrConflict)
		}
		if a.err != nil && (ctx.Err() != nil || !noAnswer(a.err)) {
			return a.err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for other, n := range f.nodes {
		if _, has := n.volumes[name]; has && other != id && r.stands(other) != online {
			return fmt.Errorf("it is on node %s, which is offline, and is not made anew, empty, on %s: %w", other, called(id), docker.ErrUnavailable)
		}
	}
	return nil
}

// called names a node in a sentence.
func called(id string) string {
	if id == "" {
		return "this machine"
	}
	return "node " + id
}

func hasVolume(ctx context.Context, rt docker.Runtime, name string) (bool, error) {
	all, err := rt.ListVolumes(ctx, nil)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(all, func(v docker.Volume) bool { return v.Name == name }), nil
}

// learnVolumes takes in a listing by labels.
func (f *Fleet) learnVolumes(id string, labels map[string]string, list []docker.Volume) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.node(id)
	maps.DeleteFunc(n.volumes, func(_ string, v docker.Volume) bool { return carries(v.Labels, labels) })
	for _, v := range list {
		n.volumes[v.Name] = docker.Volume{Name: v.Name, Labels: maps.Clone(v.Labels), Created: v.Created}
	}
}

// ListVolumes implements docker.Runtime: those of all nodes that are online. One of the
// placement that does not answer is an error: a list without its volumes would say that
// there are none. One that several have is listed once, as the placement's has it.
func (v *view) ListVolumes(ctx context.Context, labels map[string]string) ([]docker.Volume, error) {
	r := v.roll(ctx)
	if v.alone(r) {
		return v.f.o.Local.ListVolumes(ctx, labels)
	}
	nodes := r.those(online)
	slices.SortStableFunc(nodes, func(a, b string) int { return v.rank(a) - v.rank(b) })
	var out []docker.Volume
	seen := map[string]bool{}
	for _, a := range ask(ctx, v.f, nodes, func(ctx context.Context, _ string, rt docker.Runtime) ([]docker.Volume, error) {
		return rt.ListVolumes(ctx, labels)
	}) {
		if a.err != nil {
			if ctx.Err() != nil || a.node == "" || slices.Contains(v.nodes, a.node) || !noAnswer(a.err) {
				return nil, a.err
			}
			v.f.o.Logger.WarnContext(ctx, "a node does not list its volumes", "node", a.node, "error", a.err)
			continue
		}
		v.f.learnVolumes(a.node, labels, a.value)
		for _, vol := range a.value {
			if !seen[vol.Name] {
				seen[vol.Name] = true
				out = append(out, vol)
			}
		}
	}
	slices.SortFunc(out, func(a, b docker.Volume) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// rank puts the nodes of the placement before others.
func (v *view) rank(id string) int {
	if slices.Contains(v.nodes, id) {
		return 0
	}
	return 1
}

// RemoveVolume implements docker.Runtime: on every node that is online. While one is
// offline that may have it, it is docker.ErrUnavailable, but for the files of a container
// that another node had: what a node that is back has of those goes with its sweep.
func (v *view) RemoveVolume(ctx context.Context, name string) error {
	r := v.roll(ctx)
	if v.alone(r) {
		return v.f.o.Local.RemoveVolume(ctx, name)
	}
	f := v.f
	asked, silent, files := v.holders(r, name)
	var errs []error
	for _, a := range ask(ctx, f, asked, func(ctx context.Context, _ string, rt docker.Runtime) (nothing, error) {
		return nothing{}, rt.RemoveVolume(ctx, name)
	}) {
		if a.err != nil {
			errs = append(errs, a.err)
			continue
		}
		f.mu.Lock()
		delete(f.node(a.node).volumes, name)
		f.mu.Unlock()
	}
	if len(errs) == 0 && len(silent) > 0 && !files {
		errs = append(errs, fmt.Errorf("volume %s may be on node %s, which is offline: %w", name, strings.Join(silent, ", "), docker.ErrUnavailable))
	}
	return errors.Join(errs...)
}

// holders are the nodes that are asked to remove a volume, and those that are offline and
// may have it; files says that it is known to hold the files of a container, which only
// the nodes that are known and those of the placement have.
func (v *view) holders(r *roll, name string) (asked, silent []string, files bool) {
	v.f.mu.Lock()
	defer v.f.mu.Unlock()
	var likely []string
	for _, id := range r.ids {
		vol, has := v.f.node(id).volumes[name]
		switch {
		case r.stands(id) == online:
			asked = append(asked, id)
			files = files || vol.Labels[docker.LabelFiles] != ""
			if has || slices.Contains(v.nodes, id) {
				likely = append(likely, id)
			}
		case has || !v.f.node(id).complete && (len(v.nodes) == 0 || slices.Contains(v.nodes, id)):
			silent = append(silent, id)
		}
	}
	for id, n := range v.f.nodes {
		if _, has := n.volumes[name]; has && r.stands(id) == over {
			silent = append(silent, id) // volumes are never given up
		}
	}
	if files {
		asked = likely
	}
	return asked, silent, files
}

// VolumeSizes implements docker.Runtime: of what several nodes have, the sum. Nodes that
// do not answer are left out.
func (v *view) VolumeSizes(ctx context.Context) (map[string]int64, error) {
	r := v.f.roll(v.nodes...)
	out := map[string]int64{}
	for _, id := range r.those(online) {
		rt, err := v.f.engine(id)
		var sizes map[string]int64
		if err == nil {
			sizes, err = rt.VolumeSizes(ctx)
		}
		if err != nil {
			if ctx.Err() != nil || id == "" || !noAnswer(err) {
				return nil, told(id, err)
			}
			continue
		}
		for name, size := range sizes {
			out[name] += size
		}
	}
	return out, nil
}
