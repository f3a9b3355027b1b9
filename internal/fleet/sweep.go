package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

// Sweeping is what a sweep has to be told.
type Sweeping struct {
	// Placed is where an app runs; false when it was never placed, which is here.
	Placed func(app string) (store.Placement, bool)
	// Desired reports whether a service is still somebody's: it is desired, or its
	// teardown is not over. An error leaves its containers alone. Without it no service
	// is taken for gone.
	Desired func(ctx context.Context, service string) (bool, error)
	// Grace is how long a container may take to end whose labels say nothing; 0 is 10 s.
	Grace time.Duration
}

const defaultGrace = 10 * time.Second

// Swept is what a sweep did, and what it left.
type Swept struct {
	Removed  []string // containers, by name
	Networks []string // that were removed, by name
	// Waiting names what cannot go yet, and why. A later sweep has to look again.
	Waiting []string
	// Volumes are ours on the node, of apps that are not placed there, or of nobody that
	// is known. They are left alone.
	Volumes []docker.Volume
}

// Sweep brings a node that is back into line. Of containers whose name another node has
// too, the surplus is stopped and removed once the one that keeps the name runs, as is
// what belongs to a service that is no more. Networks of apps that this machine has no
// network of are removed. Volumes with data are never touched. Once nothing waits, who gave
// the node up may take it back.
func (f *Fleet) Sweep(ctx context.Context, id string, o Sweeping) (Swept, error) {
	s := &sweep{f: f, id: id, o: o, unknown: map[string]bool{}}
	if err := s.run(ctx); err != nil {
		return s.out, fmt.Errorf("sweep node %s: %w", id, err)
	}
	return s.out, nil
}

type sweep struct {
	f   *Fleet
	id  string
	o   Sweeping
	r   *roll
	rt  docker.Runtime
	out Swept

	unknown map[string]bool // nodes that are waited for as nobody knows what they have
}

func (s *sweep) run(ctx context.Context) (err error) {
	if s.id == "" {
		return fmt.Errorf("this machine is never swept: %w", docker.ErrInvalid)
	}
	s.r = s.f.roll(s.id)
	if s.rt, err = s.f.reach(s.r, s.id); err != nil {
		return err
	}
	s.f.look(ctx, s.r)
	began := s.f.moment()
	list, err := s.rt.List(ctx, s.f.ours())
	if err != nil {
		return err
	}
	s.f.learnList(s.id, s.f.ours(), list, began)
	for i := range list {
		if s.f.o.Instance == "" || list[i].Labels[docker.LabelInstance] != s.f.o.Instance {
			continue
		}
		if err := s.container(ctx, &list[i]); err != nil {
			return err
		}
	}
	if err := s.networks(ctx); err != nil {
		return err
	}
	return s.volumes(ctx, list)
}

// container looks at one container of the node.
func (s *sweep) container(ctx context.Context, c *docker.ContainerState) error {
	if gone, err := s.ownerGone(ctx, c); err != nil || gone {
		if err != nil {
			s.wait("container %s: %v", c.Name, err)
			return nil
		}
		return s.remove(ctx, s.id, s.rt, c)
	}
	p, _ := s.o.Placed(c.Labels[docker.LabelApp])
	at, placed := replicaOn(p.Nodes, c.Labels)
	for _, other := range s.r.ids {
		if other == s.id || s.r.stands(other) == away && slices.Contains(p.Lost, other) {
			continue
		}
		if !s.f.surveyed(other) && (!placed || at != s.id) {
			s.unlisted(other)
		}
		if s.f.cold(other, c.Name) {
			continue
		}
		if err := s.pair(ctx, c, other); err != nil {
			return err
		}
	}
	return nil
}

// unlisted waits for a node of which nobody knows what it has: it may have the one that
// keeps a name.
func (s *sweep) unlisted(other string) {
	if !s.unknown[other] {
		s.unknown[other] = true
		s.wait("what is on %s is not known yet", called(other))
	}
}

// cold reports whether a node is not known to have a container of that name.
func (f *Fleet) cold(id, name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes[id].find(name) == nil
}

// pair removes one of two containers of a name, if the other one runs.
func (s *sweep) pair(ctx context.Context, c *docker.ContainerState, other string) error {
	if s.r.stands(other) != online {
		s.wait("container %s: node %s, which is offline, has one of that name too", c.Name, other)
		return nil
	}
	rt, err := s.f.engine(other)
	if err != nil {
		return err
	}
	twin, err := rt.Inspect(ctx, c.Name)
	switch {
	case docker.IsNotFound(err):
		return nil
	case noAnswer(err):
		s.wait("container %s: %v", c.Name, told(other, err))
		return nil
	case err != nil:
		return told(other, err)
	case twin.Labels[docker.LabelInstance] != s.f.o.Instance:
		return nil // somebody else's
	}
	if s.keeper(other, c) == other {
		return s.surplus(ctx, s.id, s.rt, c, called(other), twin.Running())
	}
	mine, err := s.rt.Inspect(ctx, c.ID)
	if err != nil {
		return err
	}
	return s.surplus(ctx, other, rt, twin, called(s.id), mine.Running())
}

// surplus removes a container, if the one that keeps its name runs.
func (s *sweep) surplus(ctx context.Context, id string, rt docker.Runtime, c *docker.ContainerState, keeper string, runs bool) error {
	if !runs {
		s.wait("container %s: the one on %s, which keeps the name, does not run", c.Name, keeper)
		return nil
	}
	return s.remove(ctx, id, rt, c)
}

// keeper is the one of this node and another that keeps the name.
func (s *sweep) keeper(other string, c *docker.ContainerState) string {
	if p, ok := s.o.Placed(c.Labels[docker.LabelApp]); ok {
		if at, ok := replicaOn(p.Nodes, c.Labels); ok && (at == s.id || at == other) {
			return at
		}
	}
	return min(s.id, other)
}

// ownerGone reports whether the service of a container is no more.
func (s *sweep) ownerGone(ctx context.Context, c *docker.ContainerState) (bool, error) {
	service := c.Labels[docker.LabelService]
	if s.o.Desired == nil || service == "" || c.Labels[docker.LabelWorkload] != "" {
		return false, nil
	}
	desired, err := s.o.Desired(ctx, service)
	return err == nil && !desired, err
}

// remove stops a container and removes it, by its id.
func (s *sweep) remove(ctx context.Context, id string, rt docker.Runtime, c *docker.ContainerState) error {
	s.f.o.Logger.InfoContext(ctx, "a surplus container is removed", "node", id, "container", c.Name, "id", c.ID)
	err := rt.Stop(ctx, c.ID, s.grace(c))
	if err == nil || docker.IsNotFound(err) {
		err = rt.Remove(ctx, c.ID)
	}
	if err != nil {
		return told(id, fmt.Errorf("remove container %s: %w", c.Name, err))
	}
	s.f.removed(id, c.ID)
	s.out.Removed = append(s.out.Removed, c.Name)
	return s.filesOf(ctx, id, rt, c.Name)
}

// filesOf removes the volumes with the files of a container that was just removed.
func (s *sweep) filesOf(ctx context.Context, id string, rt docker.Runtime, container string) error {
	all, err := rt.ListVolumes(ctx, map[string]string{docker.LabelInstance: s.f.o.Instance, docker.LabelFiles: container})
	if err != nil {
		return told(id, err)
	}
	for _, v := range all {
		if err := s.removeVolume(ctx, id, rt, v.Name); err != nil {
			return err
		}
	}
	return nil
}

func (s *sweep) removeVolume(ctx context.Context, id string, rt docker.Runtime, name string) error {
	err := rt.RemoveVolume(ctx, name)
	if docker.IsConflict(err) {
		return nil // a container has it
	}
	if err == nil {
		s.f.mu.Lock()
		delete(s.f.node(id).volumes, name)
		s.f.mu.Unlock()
	}
	return told(id, err)
}

func (s *sweep) grace(c *docker.ContainerState) time.Duration {
	if d, err := time.ParseDuration(c.Labels[docker.LabelGrace]); err == nil && d > 0 {
		return d
	}
	if s.o.Grace > 0 {
		return s.o.Grace
	}
	return defaultGrace
}

func (s *sweep) wait(format string, args ...any) {
	s.out.Waiting = append(s.out.Waiting, fmt.Sprintf(format, args...))
}

// networks removes those of apps that this machine has no network of.
func (s *sweep) networks(ctx context.Context) error {
	if s.f.o.Instance == "" {
		return nil
	}
	there, err := s.rt.ListNetworks(ctx, s.f.ours())
	if err != nil || len(there) == 0 {
		return err
	}
	for i := range there {
		n := &there[i]
		app := n.Labels[docker.LabelApp]
		if p, ok := s.o.Placed(app); app == "" || ok && slices.Contains(p.Nodes, s.id) {
			continue
		}
		// Asked for each: nothing goes because one answer was short.
		here, err := s.f.o.Local.ListNetworks(ctx, map[string]string{docker.LabelInstance: s.f.o.Instance, docker.LabelApp: app})
		if err != nil {
			return err
		}
		if len(here) > 0 {
			continue
		}
		s.f.forgetNetwork(s.id, n.Name)
		err = s.rt.RemoveNetwork(ctx, n.ID)
		switch {
		case docker.IsConflict(err):
			s.wait("network %s: containers are attached to it", n.Name)
		case err != nil:
			return fmt.Errorf("remove network %s: %w", n.Name, err)
		default:
			s.out.Networks = append(s.out.Networks, n.Name)
		}
	}
	return nil
}

// volumes removes the files of containers that are not on the node any more, and names
// what it leaves.
func (s *sweep) volumes(ctx context.Context, listed []docker.ContainerState) error {
	all, err := s.rt.ListVolumes(ctx, s.f.ours())
	if err != nil {
		return err
	}
	for _, v := range all {
		if s.f.o.Instance == "" || v.Labels[docker.LabelInstance] != s.f.o.Instance {
			continue
		}
		if container := v.Labels[docker.LabelFiles]; container != "" {
			if err := s.files(ctx, v.Name, container, listed); err != nil {
				return err
			}
			continue
		}
		if p, ok := s.o.Placed(v.Labels[docker.LabelApp]); !ok || !slices.Contains(p.Nodes, s.id) {
			s.out.Volumes = append(s.out.Volumes, v)
		}
	}
	return nil
}

// files removes a volume with the files of a container that the node has no more. One
// that is about to be made is not on the list either, and is given it again.
func (s *sweep) files(ctx context.Context, volume, container string, listed []docker.ContainerState) error {
	if slices.ContainsFunc(listed, func(c docker.ContainerState) bool { return c.Name == container }) {
		return nil
	}
	if _, err := s.rt.Inspect(ctx, container); !docker.IsNotFound(err) {
		return err
	}
	return s.removeVolume(ctx, s.id, s.rt, volume)
}

// Holds is what is ours on one node, asked now. A node that cannot be asked is
// docker.ErrUnavailable.
func (f *Fleet) Holds(ctx context.Context, id string) ([]docker.ContainerState, []docker.Volume, error) {
	rt, err := f.reach(f.roll(id), id)
	if err != nil {
		return nil, nil, err
	}
	began := f.moment()
	list, err := rt.List(ctx, f.ours())
	if err != nil {
		return nil, nil, told(id, err)
	}
	volumes, err := rt.ListVolumes(ctx, f.ours())
	if err != nil {
		return nil, nil, told(id, err)
	}
	for i := range list {
		list[i].Node = id
	}
	f.learnList(id, f.ours(), list, began)
	f.learnVolumes(id, f.ours(), volumes)
	return list, volumes, nil
}
