package application

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

// SubnetStore is where the subnets of apps are recorded.
type SubnetStore interface {
	SubnetOf(ctx context.Context, app string) (store.Subnet, error)
	ListSubnets(ctx context.Context) ([]store.Subnet, error)
	SaveSubnet(ctx context.Context, s store.Subnet) error
	DropSubnet(ctx context.Context, app string) error
}

// Networks gives each app a network of its own, with a subnet from a pool.
// It is shared by all controllers of one engine.
type Networks struct {
	Store    SubnetStore
	Runtime  docker.Runtime
	Instance string
	Prefix   string       // of network names; "" means "berth"
	Pool     netip.Prefix // cut into /24s
	// Bridges begins the names of the host's interfaces, up to 9 characters, so that a
	// firewall knows them before they are there; "" lets the engine name them.
	Bridges string
	// HostRoutes lists the prefixes that the host already reaches some way.
	HostRoutes func() ([]netip.Prefix, error)

	// choosing is held while a network is looked for, made or removed, engine
	// and store included: two apps must not choose one subnet. Passes of apps
	// whose network is known do not wait for it.
	choosing sync.Mutex
	last     netip.Prefix // that was tried
	mu       sync.Mutex
	known    map[string]bool
}

// DefaultPool is where app subnets come from unless configured otherwise.
var DefaultPool = netip.MustParsePrefix("10.210.0.0/16")

// subnetBits is the size of an app's subnet.
const subnetBits = 24

// Ensure makes the app's network stand and returns its name.
func (n *Networks) Ensure(ctx context.Context, app string) (string, error) {
	name := NetworkName(n.Prefix, app)
	if n.knows(app) {
		return name, nil
	}
	n.choosing.Lock()
	defer n.choosing.Unlock()
	if n.knows(app) { // meanwhile
		return name, nil
	}
	all, err := n.Runtime.ListNetworks(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("list networks: %w", err)
	}
	for i := range all {
		if all[i].Name == name {
			return name, n.adopt(ctx, app, &all[i])
		}
	}
	if err := n.create(ctx, app, name, all); err != nil {
		return "", err
	}
	n.remember(app)
	return name, nil
}

// Invalidate makes the next Ensure look at the engine again.
func (n *Networks) Invalidate(app string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, app)
}

func (n *Networks) knows(app string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[app]
}

func (n *Networks) remember(app string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = map[string]bool{}
	}
	n.known[app] = true
}

func (n *Networks) labels(app string) map[string]string {
	return map[string]string{docker.LabelInstance: n.Instance, docker.LabelApp: app}
}

// adopt accepts an existing network if it is ours.
func (n *Networks) adopt(ctx context.Context, app string, d *docker.NetworkDetail) error {
	for k, v := range n.labels(app) {
		if d.Labels[k] != v {
			return fmt.Errorf("network %s exists and belongs to somebody else (label %s=%q); remove it or choose another network prefix: %w",
				d.Name, k, d.Labels[k], docker.ErrConflict)
		}
	}
	if len(d.Subnets) == 0 {
		return fmt.Errorf("network %s has no subnet: %w", d.Name, docker.ErrInvalid)
	}
	have, err := n.Store.SubnetOf(ctx, app)
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = n.Store.SaveSubnet(ctx, store.Subnet{AppID: app, Prefix: d.Subnets[0]})
	case err == nil && have.Prefix != d.Subnets[0]:
		return fmt.Errorf("network %s has subnet %s, recorded is %s; remove the network while no container uses it: %w",
			d.Name, d.Subnets[0], have.Prefix, docker.ErrConflict)
	}
	if err != nil {
		return storeError("subnet of app "+app, err)
	}
	n.remember(app)
	return nil
}

// create makes the network in its recorded subnet, or in the first free one.
// A subnet that the engine refuses is given up for the next.
func (n *Networks) create(ctx context.Context, app, name string, all []docker.NetworkDetail) error {
	taken, err := n.taken(ctx, app, all)
	if err != nil {
		return err
	}
	if s, err := n.Store.SubnetOf(ctx, app); err == nil {
		if err := n.try(ctx, app, name, s.Prefix); !errors.Is(err, docker.ErrSubnetOverlap) {
			return err
		}
		if err := n.Store.DropSubnet(ctx, app); err != nil {
			return storeError("drop subnet of app "+app, err)
		}
		taken = append(taken, s.Prefix)
	} else if !errors.Is(err, store.ErrNotFound) {
		return storeError("subnet of app "+app, err)
	}
	for prefix := range n.inTurn(taken) {
		if overlapsAny(prefix, taken) {
			continue
		}
		if err := n.Store.SaveSubnet(ctx, store.Subnet{AppID: app, Prefix: prefix}); err != nil {
			return storeError("save subnet of app "+app, err)
		}
		err := n.try(ctx, app, name, prefix)
		if !errors.Is(err, docker.ErrSubnetOverlap) {
			return err
		}
		if err := n.Store.DropSubnet(ctx, app); err != nil {
			return storeError("drop subnet of app "+app, err)
		}
	}
	return fmt.Errorf("no free /%d is left in the network pool %s; configure a larger pool or delete apps", subnetBits, n.Pool)
}

// createPatience bounds the creation of a network.
const createPatience = 15 * time.Second

func (n *Networks) try(ctx context.Context, app, name string, prefix netip.Prefix) error {
	// An engine goes on with what it was asked for when its caller has left, and a
	// second network of the name would come beside.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createPatience)
	defer cancel()
	_, err := n.Runtime.CreateNetwork(ctx, docker.NetworkSpec{Name: name, Subnet: prefix, Labels: n.labels(app), Bridge: n.bridge(prefix)})
	if err != nil {
		return fmt.Errorf("create network %s with subnet %s: %w", name, prefix, err)
	}
	return nil
}

// bridge names the interface of a subnet after it, of which there is one on a host.
func (n *Networks) bridge(subnet netip.Prefix) string {
	if n.Bridges == "" {
		return ""
	}
	a := subnet.Addr().As4()
	return fmt.Sprintf("%s%x", n.Bridges, a[:subnetBits/8])
}

// taken lists the prefixes that a new subnet must keep clear of.
func (n *Networks) taken(ctx context.Context, app string, all []docker.NetworkDetail) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for i := range all {
		out = append(out, all[i].Subnets...)
	}
	recorded, err := n.Store.ListSubnets(ctx)
	if err != nil {
		return nil, storeError("list subnets", err)
	}
	for _, s := range recorded {
		if s.AppID != app {
			out = append(out, s.Prefix)
		}
	}
	if n.HostRoutes != nil {
		routes, err := n.HostRoutes()
		if err != nil {
			return nil, fmt.Errorf("read the host's routes: %w", err)
		}
		out = append(out, routes...)
	}
	return out, nil
}

// Remove deletes the app's network if it is ours and nothing is attached, and
// forgets its subnet.
func (n *Networks) Remove(ctx context.Context, app string) error {
	n.choosing.Lock()
	defer n.choosing.Unlock()
	n.Invalidate(app)
	nets, err := n.Runtime.ListNetworks(ctx, n.labels(app))
	if err != nil {
		return fmt.Errorf("list networks of app %s: %w", app, err)
	}
	for i := range nets {
		if err := n.Runtime.RemoveNetwork(ctx, nets[i].ID); err != nil {
			return fmt.Errorf("remove network %s: %w", nets[i].Name, err)
		}
	}
	if err := n.Store.DropSubnet(ctx, app); err != nil {
		return storeError("drop subnet of app "+app, err)
	}
	return nil
}

// subnets yields the /24s of a pool in order.
func subnets(pool netip.Prefix) func(yield func(netip.Prefix) bool) {
	return func(yield func(netip.Prefix) bool) {
		p := netip.PrefixFrom(pool.Masked().Addr(), max(subnetBits, pool.Bits()))
		for pool.Contains(p.Addr()) {
			if !yield(p) {
				return
			}
			a := p.Addr().As4()
			v := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
			next := v + 1<<(32-p.Bits())
			if next < v {
				return
			}
			p = netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(next >> 24), byte(next >> 16), byte(next >> 8), byte(next)}), p.Bits())
		}
	}
}

func overlapsAny(p netip.Prefix, taken []netip.Prefix) bool {
	for _, t := range taken {
		if p.Overlaps(t) {
			return true
		}
	}
	return false
}
