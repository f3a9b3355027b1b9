package dockertest

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/berth-cloud/berth/internal/docker"
)

// defaultNetwork is where a container goes that names none.
const defaultNetwork = "bridge"

// network is one network with the running containers on it.
type network struct {
	docker.NetworkDetail
	members map[netip.Addr]*container
}

func (e *Engine) addDefaultNetworks() {
	bridge := e.addNetwork(defaultNetwork, "bridge", netip.MustParsePrefix("172.17.0.0/16"), nil)
	bridge.Gateway = netip.MustParseAddr("172.17.0.1")
	e.addNetwork("host", "host", netip.Prefix{}, nil)
	e.addNetwork("none", "null", netip.Prefix{}, nil)
}

func (e *Engine) addNetwork(name, driver string, subnet netip.Prefix, labels map[string]string) *network {
	n := &network{members: map[netip.Addr]*container{}}
	n.ID, n.Name, n.Driver, n.Created = e.newID("network"), name, driver, e.now()
	n.Labels = maps.Clone(labels)
	if subnet.IsValid() {
		n.Subnets = []netip.Prefix{subnet.Masked()}
		n.Gateway = subnet.Masked().Addr().Next()
	}
	e.networks = append(e.networks, n)
	return n
}

// AddHostRoute makes the host own a route, so that no network may overlap it.
func (e *Engine) AddHostRoute(p netip.Prefix) {
	e.clock.lock()
	defer e.clock.unlock()
	e.hostRoutes = append(e.hostRoutes, p.Masked())
}

// findNetwork returns a network by name or id, nil when there is none.
func (e *Engine) findNetwork(ref string) *network {
	if ref == "" {
		ref = defaultNetwork
	}
	for _, n := range e.networks {
		if n.Name == ref || n.ID == ref {
			return n
		}
	}
	return nil
}

// CreateNetwork implements docker.Runtime.
func (e *Engine) CreateNetwork(ctx context.Context, spec docker.NetworkSpec) (id string, err error) {
	err = e.call(ctx, CallCreateNetwork, spec.Name, func(f *fault) error {
		if f.lies() {
			id = e.newID("never-made")
			return nil
		}
		if !validName.MatchString(spec.Name) || !spec.Subnet.IsValid() {
			return fmt.Errorf("network %q with subnet %v: %w", spec.Name, spec.Subnet, docker.ErrInvalid)
		}
		if e.findNetwork(spec.Name) != nil {
			return fmt.Errorf("network %q exists: %w", spec.Name, docker.ErrConflict)
		}
		if err := e.checkOverlap(spec.Subnet); err != nil {
			return err
		}
		id = e.addNetwork(spec.Name, "bridge", spec.Subnet, spec.Labels).ID
		e.recordObject(DidCreateNetwork, spec.Name, spec.Labels)
		return nil
	})
	if err != nil {
		return "", err
	}
	return id, nil
}

func (e *Engine) checkOverlap(subnet netip.Prefix) error {
	for _, n := range e.networks {
		for _, s := range n.Subnets {
			if s.Overlaps(subnet) {
				return fmt.Errorf("subnet %v and network %q (%v): %w", subnet, n.Name, s, docker.ErrSubnetOverlap)
			}
		}
	}
	for _, r := range e.hostRoutes {
		if r.Overlaps(subnet) {
			return fmt.Errorf("subnet %v and host route %v: %w", subnet, r, docker.ErrSubnetOverlap)
		}
	}
	return nil
}

// ListNetworks implements docker.Runtime.
func (e *Engine) ListNetworks(ctx context.Context, labels map[string]string) (out []docker.NetworkDetail, err error) {
	err = e.call(ctx, CallListNetworks, "", func(f *fault) error {
		for _, n := range e.networks {
			if carries(n.Labels, labels) {
				out = append(out, n.detail())
			}
		}
		if f.lies() && len(out) > 0 {
			out = out[:len(out)-1]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (n *network) detail() docker.NetworkDetail {
	d := n.NetworkDetail
	d.Subnets, d.Labels = slices.Clone(n.Subnets), maps.Clone(n.Labels)
	for _, a := range slices.SortedFunc(maps.Keys(n.members), netip.Addr.Compare) {
		c := n.members[a]
		d.Attached = append(d.Attached, docker.NetworkMember{ContainerID: c.id, Name: c.spec.Name, Address: a})
	}
	return d
}

// RemoveNetwork implements docker.Runtime.
func (e *Engine) RemoveNetwork(ctx context.Context, ref string) error {
	return e.call(ctx, CallRemoveNetwork, ref, func(f *fault) error {
		n := e.findNetwork(ref)
		if n == nil || f.lies() {
			return nil
		}
		if len(n.members) > 0 {
			return fmt.Errorf("network %q has containers attached: %w", ref, docker.ErrConflict)
		}
		e.networks = slices.DeleteFunc(e.networks, func(o *network) bool { return o == n })
		e.recordObject(DidRemoveNetwork, n.Name, n.Labels)
		return nil
	})
}
