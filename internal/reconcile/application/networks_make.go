package application

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

// create makes the network in its recorded subnet, or in the first free one. The
// record comes first: a network that a process which died was still making is in it,
// and no engine makes two in one subnet.
func (n *Networks) create(ctx context.Context, app, name string, all []docker.NetworkDetail) error {
	taken, err := n.taken(ctx, app, all)
	if err != nil {
		return err
	}
	if s, err := n.Store.SubnetOf(ctx, app); err == nil {
		err := n.try(ctx, app, name, s.Prefix)
		if !errors.Is(err, docker.ErrSubnetOverlap) && !docker.IsConflict(err) {
			return err
		}
		if free, err := n.lookAgain(ctx, app, name, s.Prefix, err); err != nil || !free {
			return err
		}
		if err := n.Store.DropSubnet(ctx, app); err != nil {
			return storeError("drop subnet of app "+app, err)
		}
		taken = append(taken, s.Prefix)
	} else if !errors.Is(err, store.ErrNotFound) {
		return storeError("subnet of app "+app, err)
	}
	return n.choose(ctx, app, name, taken)
}

// choose makes the network in the first free subnet. One that the engine refuses is
// given up for the next: nobody has asked for it before.
func (n *Networks) choose(ctx context.Context, app, name string, taken []netip.Prefix) error {
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

// lookAgain is after the engine refused the recorded subnet: an engine goes on with what
// a process that died has asked of it, and lists the network only when it is made. The
// subnet is free for another when somebody else has it who can be seen, or when nobody
// has been seen for longer than an engine takes.
func (n *Networks) lookAgain(ctx context.Context, app, name string, prefix netip.Prefix, refusal error) (free bool, err error) {
	all, err := n.Runtime.ListNetworks(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("list networks: %w", err)
	}
	if mine := named(all, name); len(mine) > 0 {
		return false, n.adopt(ctx, app, mine)
	}
	if !errors.Is(refusal, docker.ErrSubnetOverlap) {
		return false, refusal
	}
	if free, err = n.seen(ctx, app, prefix, all); err != nil || free {
		return free, err
	}
	return false, fmt.Errorf("%w; no network has it yet, which may be on its way: %w", refusal, ErrHeld)
}

// seen reports whether it is known why the engine refuses a subnet, or nobody wants to
// wait for that any more. A route of the host says nothing: it may be that of the network
// on its way.
func (n *Networks) seen(ctx context.Context, app string, prefix netip.Prefix, all []docker.NetworkDetail) (bool, error) {
	others, err := n.othersHave(ctx, app, all)
	return err == nil && (overlapsAny(prefix, others) || n.patient(app)), err
}

// drain makes sure, where a subnet is recorded and no network has it, that none comes
// later: it has the engine make one there, which it does not while it makes another, and
// removes it.
func (n *Networks) drain(ctx context.Context, app string) error {
	s, err := n.Store.SubnetOf(ctx, app)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return storeError("subnet of app "+app, err)
	}
	refusal := n.try(ctx, app, NetworkName(n.Prefix, app), s.Prefix)
	if refusal != nil && !errors.Is(refusal, docker.ErrSubnetOverlap) && !docker.IsConflict(refusal) {
		return refusal
	}
	all, err := n.Runtime.ListNetworks(ctx, nil)
	if err != nil {
		return fmt.Errorf("list networks: %w", err)
	}
	if removed, err := n.removeOwn(ctx, app, all); err != nil || removed > 0 || refusal == nil || docker.IsConflict(refusal) {
		return err
	}
	if gone, err := n.seen(ctx, app, s.Prefix, all); err != nil || gone {
		return err
	}
	return fmt.Errorf("%w; no network has it yet, which may be on its way: %w", refusal, docker.ErrUnavailable)
}

// unseenPatience is for how long the engine may refuse a subnet while no network has it.
const unseenPatience = 10 * time.Second

// patient reports whether the engine has refused the subnet of an app for long enough.
func (n *Networks) patient(app string) bool {
	if n.Now == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	since, ok := n.refused[app]
	if !ok {
		if n.refused == nil {
			n.refused = map[string]time.Time{}
		}
		since = n.Now()
		n.refused[app] = since
	}
	return n.Now().Sub(since) >= unseenPatience
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
	out, err := n.othersHave(ctx, app, all)
	if err != nil || n.HostRoutes == nil {
		return out, err
	}
	routes, err := n.HostRoutes()
	if err != nil {
		return nil, fmt.Errorf("read the host's routes: %w", err)
	}
	return append(out, routes...), nil
}

// othersHave lists the subnets of networks that are there, and of those that are
// recorded for other apps.
func (n *Networks) othersHave(ctx context.Context, app string, all []docker.NetworkDetail) ([]netip.Prefix, error) {
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
	return out, nil
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
