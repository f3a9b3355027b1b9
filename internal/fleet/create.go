package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/internal/docker"
)

// Create implements docker.Runtime: on the node of the replica, with the network of the
// app as it is on this machine.
func (v *view) Create(ctx context.Context, spec docker.ContainerSpec) (string, error) {
	r := v.roll(ctx)
	if v.alone(r) {
		return v.f.o.Local.Create(ctx, spec)
	}
	home := v.home(spec.Labels)
	id, _ := replicaOn(home, spec.Labels)
	rt, err := v.f.reach(r, id)
	if err == nil {
		err = v.elsewhere(r, id, spec.Name)
	}
	if err == nil && len(home) > 1 {
		err = v.f.fileVolumes(ctx, id, rt, &spec)
	}
	if err != nil {
		return "", fmt.Errorf("create container %s: %w", spec.Name, err)
	}
	made, err := v.f.create(ctx, id, rt, spec)
	if remote(id) && docker.IsImageNotFound(err) {
		if coming := v.f.bring(r, id, spec.Image); coming != nil {
			err = coming
		}
	}
	return made, told(id, err)
}

// create makes the container on that node.
func (f *Fleet) create(ctx context.Context, id string, rt docker.Runtime, spec docker.ContainerSpec) (string, error) {
	if err := f.network(ctx, id, rt, &spec.Network); err != nil {
		return "", err
	}
	settle := f.expect(id, &spec)
	made, err := rt.Create(ctx, spec)
	if remote(id) && docker.IsNotFound(err) {
		// It may be the network, if somebody removed it there.
		f.forgetNetwork(id, spec.Network.Network)
		if nerr := f.network(ctx, id, rt, &spec.Network); nerr != nil {
			err = nerr
		} else {
			made, err = rt.Create(ctx, spec)
		}
	}
	settle(made, err)
	return made, err
}

// elsewhere refuses a name that another node has: there are never two of one name.
func (v *view) elsewhere(r *roll, id, name string) error {
	for _, other := range r.ids {
		if other == id {
			continue
		}
		v.f.mu.Lock()
		s := r.find(other, name)
		sure := s != nil && !s.maybe && s.misses == 0
		v.f.mu.Unlock()
		switch {
		case s == nil:
		case sure && r.stands(other) == online:
			return fmt.Errorf("it is on %s: %w", called(other), docker.ErrConflict)
		case s.maybe && r.stands(other) == online:
			return fmt.Errorf("whether it is on %s is not known yet: %w", called(other), docker.ErrUnavailable)
		case r.stands(other) == away:
			return fmt.Errorf("it may be there already: %w", unavailable(other, nil))
		}
	}
	return nil
}

// expect notes that a container may come to be on a node. settle tells how that ended:
// without an answer it may be there for good.
func (f *Fleet) expect(id string, spec *docker.ContainerSpec) (settle func(made string, err error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.node(id)
	f.seq++
	state := docker.ContainerState{
		Name: spec.Name, Image: spec.Image, Labels: spec.Labels, Status: docker.StatusCreated, Created: f.o.Now(),
		Address: spec.Network.Address, Mounts: spec.Mounts, Node: id,
	}
	if spec.Network.Network != "" {
		state.Networks = []string{spec.Network.Network}
	}
	state = copyOf(&state)
	s := n.byName[spec.Name]
	if s == nil {
		s = &sighting{state: state, key: "?" + spec.Name, maybe: true}
		n.put(s)
	}
	s.pending, s.at = s.pending+1, f.seq
	return func(made string, err error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.seq++
		s.pending--
		s.at = f.seq
		switch {
		case err == nil:
			state.ID = made
			n.put(&sighting{state: state, key: made, at: f.seq})
		case s.maybe && s.pending == 0 && !unclear(err) && n.seen[s.key] == s:
			n.drop(s)
		}
	}
}

// unclear reports whether a call that failed may have had its effect.
func unclear(err error) bool {
	return docker.IsUnavailable(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
