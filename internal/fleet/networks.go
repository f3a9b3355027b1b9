package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// localNetworks are those of this machine, as they were last listed.
type localNetworks struct {
	mu   sync.Mutex
	list []docker.NetworkDetail
}

// making bounds the making of a network on a node.
const makingTime = 15 * time.Second

// local finds a network of this machine by its id or name, asking once more when it is
// not among those that are known.
func (f *Fleet) local(ctx context.Context, ref string) (docker.NetworkDetail, error) {
	for fresh := range 2 {
		f.nets.mu.Lock()
		list := f.nets.list
		f.nets.mu.Unlock()
		if fresh == 1 {
			var err error
			if list, err = f.o.Local.ListNetworks(ctx, nil); err != nil {
				return docker.NetworkDetail{}, fmt.Errorf("list this machine's networks: %w", err)
			}
			f.nets.mu.Lock()
			f.nets.list = list
			f.nets.mu.Unlock()
		}
		for i := range list {
			if list[i].ID == ref || list[i].Name == ref {
				return list[i], nil
			}
		}
	}
	return docker.NetworkDetail{}, fmt.Errorf("network %s: %w", ref, docker.ErrNotFound)
}

func (f *Fleet) forgetLocal() {
	f.nets.mu.Lock()
	defer f.nets.mu.Unlock()
	f.nets.list = nil
}

// network sees to it that a node has the network of an attachment as this machine has it.
func (f *Fleet) network(ctx context.Context, id string, rt docker.Runtime, a *docker.NetworkAttachment) error {
	if !remote(id) || a.Network == "" || a.Network == "none" || a.Network == "host" || a.Network == "bridge" {
		return nil
	}
	want, err := f.local(ctx, a.Network)
	if err != nil {
		return err
	}
	if a.Address.IsValid() && !slices.ContainsFunc(want.Subnets, func(p netip.Prefix) bool { return p.Contains(a.Address) }) {
		f.forgetLocal() // what is remembered may be an older one of its name
		if want, err = f.local(ctx, a.Network); err != nil {
			return err
		}
	}
	a.Network = want.Name
	return f.makeNetwork(ctx, id, rt, &want)
}

// makeNetwork has the network made on a node, unless it is known to be there.
func (f *Fleet) makeNetwork(ctx context.Context, id string, rt docker.Runtime, want *docker.NetworkDetail) error {
	f.mu.Lock()
	n := f.node(id)
	have, ok := n.networks[want.Name]
	f.mu.Unlock()
	if ok && same(&have, want) {
		return nil
	}
	if len(want.Subnets) == 0 {
		return fmt.Errorf("network %s of this machine has no subnet: %w", want.Name, docker.ErrInvalid)
	}
	select {
	case n.making <- struct{}{}:
		defer func() { <-n.making }()
	case <-ctx.Done():
		return ctx.Err()
	}
	// An engine goes on with what it was asked for when its caller has left.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), makingTime)
	defer cancel()
	if err := f.ensureNetwork(ctx, rt, want); err != nil {
		return err
	}
	f.mu.Lock()
	n.networks[want.Name] = *want
	f.mu.Unlock()
	return nil
}

// ensureNetwork makes the network, or finds that the one that is there is right. One of
// ours with another subnet makes room, if no container runs on it.
func (f *Fleet) ensureNetwork(ctx context.Context, rt docker.Runtime, want *docker.NetworkDetail) error {
	for range 2 {
		all, err := rt.ListNetworks(ctx, nil)
		if err != nil {
			return fmt.Errorf("list networks: %w", err)
		}
		i := slices.IndexFunc(all, func(d docker.NetworkDetail) bool { return d.Name == want.Name })
		switch {
		case i < 0:
		case same(&all[i], want):
			return nil
		case !carries(all[i].Labels, want.Labels):
			return fmt.Errorf("network %s exists there and belongs to somebody else; remove it: %w", want.Name, docker.ErrConflict)
		default:
			if err := rt.RemoveNetwork(ctx, all[i].ID); err != nil {
				return fmt.Errorf("network %s has the subnet %v there, and %v here: %w", want.Name, all[i].Subnets, want.Subnets, err)
			}
		}
		spec := docker.NetworkSpec{Name: want.Name, Subnet: want.Subnets[0], Labels: want.Labels}
		if f.o.Bridge != nil {
			spec.Bridge = f.o.Bridge(want.Subnets[0])
		}
		_, err = rt.CreateNetwork(ctx, spec)
		switch {
		case docker.IsConflict(err): // made meanwhile
		case errors.Is(err, docker.ErrSubnetOverlap):
			return fmt.Errorf("subnet %s, which network %s has on every node, is taken there by something else; free it there, or take it out of the network pool: %w",
				want.Subnets[0], want.Name, err)
		case err != nil:
			return fmt.Errorf("make network %s with subnet %s: %w", want.Name, want.Subnets[0], err)
		default:
			return nil
		}
	}
	return fmt.Errorf("network %s comes and goes there: %w", want.Name, docker.ErrUnavailable)
}

func same(a, b *docker.NetworkDetail) bool {
	return slices.Equal(a.Subnets, b.Subnets) && maps.Equal(a.Labels, b.Labels)
}

func (f *Fleet) forgetNetwork(id, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.node(id).networks, name)
}

// mendNetwork makes the network of a container again that is gone from its node; again
// says that there was something to mend.
func (f *Fleet) mendNetwork(ctx context.Context, id string, rt docker.Runtime, ref string) (again bool, err error) {
	s, err := rt.Inspect(ctx, ref)
	if err != nil || len(s.Networks) == 0 {
		return false, nil //nolint:nilerr // the call's own answer says more
	}
	f.forgetNetwork(id, s.Networks[0])
	err = f.network(ctx, id, rt, &docker.NetworkAttachment{Network: s.Networks[0], Address: s.Address})
	return err == nil, err
}

// CreateNetwork implements docker.Runtime, on this machine; other nodes get it with the
// first container on it.
func (v *view) CreateNetwork(ctx context.Context, spec docker.NetworkSpec) (string, error) {
	defer v.f.forgetLocal()
	return v.f.o.Local.CreateNetwork(ctx, spec)
}

// ListNetworks implements docker.Runtime: those of this machine, with what runs on their
// like on other nodes.
func (v *view) ListNetworks(ctx context.Context, labels map[string]string) ([]docker.NetworkDetail, error) {
	all, err := v.f.o.Local.ListNetworks(ctx, labels)
	if err != nil {
		return nil, err
	}
	v.f.mu.Lock()
	defer v.f.mu.Unlock()
	for i := range all {
		for id, n := range v.f.nodes {
			if !remote(id) {
				continue
			}
			if _, ok := n.networks[all[i].Name]; ok {
				all[i].Attached = append(all[i].Attached, n.attached(all[i].Name)...)
			}
		}
	}
	return all, nil
}

// attached are the containers that were seen to run on a network.
func (n *node) attached(network string) []docker.NetworkMember {
	var out []docker.NetworkMember
	for _, s := range n.seen {
		if !s.maybe && s.state.Running() && slices.Contains(s.state.Networks, network) {
			out = append(out, docker.NetworkMember{ContainerID: s.state.ID, Name: s.state.Name, Address: s.state.Address})
		}
	}
	return out
}

// RemoveNetwork implements docker.Runtime: on every node, on this machine last. A node
// that is offline is left to its sweep.
func (v *view) RemoveNetwork(ctx context.Context, ref string) error {
	r := v.roll(ctx)
	defer v.f.forgetLocal()
	if v.alone(r) {
		return v.f.o.Local.RemoveNetwork(ctx, ref)
	}
	v.f.forgetLocal()
	mine, err := v.f.local(ctx, ref)
	if docker.IsNotFound(err) {
		return v.f.o.Local.RemoveNetwork(ctx, ref)
	}
	if err != nil {
		return err
	}
	if v.f.onlyOne(mine.Name) {
		nodes := slices.DeleteFunc(r.those(online), func(id string) bool { return !remote(id) })
		for _, a := range ask(ctx, v.f, nodes, func(ctx context.Context, id string, rt docker.Runtime) (nothing, error) {
			return nothing{}, v.f.unmakeNetwork(ctx, id, rt, &mine)
		}) {
			if a.err != nil && (ctx.Err() != nil || !noAnswer(a.err)) {
				return a.err
			}
		}
	}
	return v.f.o.Local.RemoveNetwork(ctx, ref)
}

// onlyOne reports whether this machine has one network of a name, as it was just listed.
func (f *Fleet) onlyOne(name string) bool {
	f.nets.mu.Lock()
	defer f.nets.mu.Unlock()
	n := 0
	for i := range f.nets.list {
		if f.nets.list[i].Name == name {
			n++
		}
	}
	return n == 1
}

// unmakeNetwork removes a node's network of that name, if it is this one's like.
func (f *Fleet) unmakeNetwork(ctx context.Context, id string, rt docker.Runtime, mine *docker.NetworkDetail) error {
	f.mu.Lock()
	_, made := f.node(id).networks[mine.Name]
	delete(f.node(id).networks, mine.Name)
	f.mu.Unlock()
	if !made && (f.o.Instance == "" || mine.Labels[docker.LabelInstance] != f.o.Instance) {
		return nil // not ours, or never there
	}
	all, err := rt.ListNetworks(ctx, mine.Labels)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].Name == mine.Name && same(&all[i], mine) && all[i].Driver == mine.Driver {
			if err := rt.RemoveNetwork(ctx, all[i].ID); err != nil {
				return fmt.Errorf("remove network %s: %w", mine.Name, err)
			}
		}
	}
	return nil
}
