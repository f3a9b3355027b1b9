package application

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

func named(all []docker.NetworkDetail, name string) []docker.NetworkDetail {
	var out []docker.NetworkDetail
	for i := range all {
		if all[i].Name == name {
			out = append(out, all[i])
		}
	}
	return out
}

// adopt accepts the networks of the app's name if they are ours. Of several, which an
// engine makes that is asked twice at once, one is left; and the record follows what
// there is, as long as no container needs what was recorded.
func (n *Networks) adopt(ctx context.Context, app string, mine []docker.NetworkDetail) error {
	for i := range mine {
		for k, v := range n.labels(app) {
			if d := &mine[i]; d.Labels[k] != v {
				return fmt.Errorf("network %s exists and belongs to somebody else (label %s=%q); remove it or choose another network prefix: %w",
					d.Name, k, d.Labels[k], docker.ErrConflict)
			}
		}
		if len(mine[i].Subnets) == 0 {
			return fmt.Errorf("network %s has no subnet: %w", mine[i].Name, docker.ErrInvalid)
		}
	}
	have, err := n.Store.SubnetOf(ctx, app)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return storeError("subnet of app "+app, err)
	}
	if len(mine) == 1 && mine[0].Subnets[0] == have.Prefix {
		return nil
	}
	used, err := n.used(ctx, app)
	if err != nil {
		return err
	}
	kept := mine[choice(mine, have.Prefix, used)]
	if kept.Subnets[0] != have.Prefix {
		if have.Prefix.IsValid() && holdsAny(have.Prefix, used) {
			return fmt.Errorf("network %s has subnet %s, recorded is %s, which containers use; remove the network while no container uses it: %w",
				kept.Name, kept.Subnets[0], have.Prefix, docker.ErrConflict)
		}
		if err := n.Store.SaveSubnet(ctx, store.Subnet{AppID: app, Prefix: kept.Subnets[0]}); err != nil {
			return storeError("subnet of app "+app, err)
		}
	}
	return n.leaveOne(ctx, mine, kept.ID, used)
}

// used are the addresses of the app's containers, whether they run or not.
func (n *Networks) used(ctx context.Context, app string) ([]netip.Addr, error) {
	list, err := n.Runtime.List(ctx, n.labels(app))
	if err != nil {
		return nil, fmt.Errorf("list containers of app %s: %w", app, err)
	}
	var out []netip.Addr
	for i := range list {
		if list[i].Address.IsValid() {
			out = append(out, list[i].Address)
		}
	}
	return out, nil
}

// choice is the network to keep: the recorded one, else one that containers use, else
// the oldest.
func choice(mine []docker.NetworkDetail, recorded netip.Prefix, used []netip.Addr) int {
	best, rank := 0, -1
	for i := range mine {
		r := 0
		switch {
		case mine[i].Subnets[0] == recorded:
			r = 2
		case len(mine[i].Attached) > 0 || holdsAny(mine[i].Subnets[0], used):
			r = 1
		}
		if r > rank || r == rank && mine[i].Created.Before(mine[best].Created) {
			best, rank = i, r
		}
	}
	return best
}

// leaveOne removes the other networks of the name: a container that names it could not
// be made.
func (n *Networks) leaveOne(ctx context.Context, mine []docker.NetworkDetail, kept string, used []netip.Addr) error {
	for i := range mine {
		d := &mine[i]
		if d.ID == kept {
			continue
		}
		if len(d.Attached) > 0 || holdsAny(d.Subnets[0], used) {
			return fmt.Errorf("there are two networks %s, and containers use the one with subnet %s too; remove it while no container uses it: %w",
				d.Name, d.Subnets[0], docker.ErrConflict)
		}
		if err := n.Runtime.RemoveNetwork(ctx, d.ID); err != nil {
			return fmt.Errorf("remove the second network %s: %w", d.Name, err)
		}
	}
	return nil
}

func holdsAny(p netip.Prefix, addrs []netip.Addr) bool { return slices.ContainsFunc(addrs, p.Contains) }
