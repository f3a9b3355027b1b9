package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

// Network is the document of one network: of one workload, or shared by several
// of a tenant.
type Network struct {
	Schema int    `json:"schema"`
	App    string `json:"app"`
	// Members are the workloads that use it, sorted.
	Members []id.ID      `json:"members,omitempty"`
	Subnet  netip.Prefix `json:"subnet"`
	// Next is the offset of the first address that was never given.
	Next      int64     `json:"next"`
	Addresses []Address `json:"addresses,omitempty"`
}

// Address is an address that a container holds, or that rests.
type Address struct {
	IP        netip.Addr `json:"ip"`
	Container string     `json:"container"`
	FreedAt   time.Time  `json:"freed_at,omitzero"`
}

func networkSchema(n *Network) int { return n.Schema }

func (s *Store) networkKey(app string) string { return s.key(networkDir, app) }

func (s *Store) network(ctx context.Context, app string) (*Network, error) {
	n, err := load(ctx, s, &s.networks, s.networkKey(app), networkSchema)
	if errors.Is(err, provider.ErrNotFound) {
		return nil, fmt.Errorf("network %s: %w", app, store.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("network %s: %w", app, err)
	}
	return n, nil
}

// changeNetwork changes a network's document, which it makes when there is none. An
// empty one goes.
func (s *Store) changeNetwork(ctx context.Context, app string, change func(*Network) error) error {
	key := s.networkKey(app)
	n, err := update(ctx, s, &s.networks, key, networkSchema, func(n *Network) (*Network, error) {
		if n == nil {
			n = &Network{App: app, Next: firstOffset}
		}
		n.Schema = schema
		if err := change(n); err != nil {
			return nil, err
		}
		return n, nil
	})
	if held := s.networks.get(key); err == nil && held != nil && held.value == n && len(n.Members) == 0 && !n.Subnet.IsValid() {
		// Another version means that somebody has joined meanwhile.
		err = s.state.Delete(ctx, key, held.version)
		s.networks.forget(key)
		if errors.Is(err, provider.ErrConflict) || errors.Is(err, provider.ErrNotFound) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("network %s: %w", app, err)
	}
	return nil
}

// Join makes a workload a member of a network.
func (s *Store) Join(ctx context.Context, app string, workload id.ID) error {
	return s.changeNetwork(ctx, app, func(n *Network) error {
		if !slices.Contains(n.Members, workload) {
			n.Members = append(n.Members, workload)
			slices.SortFunc(n.Members, func(a, b id.ID) int { return strings.Compare(a.String(), b.String()) })
		}
		return nil
	})
}

// Leave takes a workload out of a network, lets its addresses go and reports
// how many members are left.
func (s *Store) Leave(ctx context.Context, app string, workload id.ID, now time.Time) (int, error) {
	if _, err := s.network(ctx, app); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return 0, nil
		}
		return 0, err
	}
	left := 0
	err := s.changeNetwork(ctx, app, func(n *Network) error {
		n.Members = slices.DeleteFunc(n.Members, func(m id.ID) bool { return m == workload })
		left = len(n.Members)
		for i := range n.Addresses {
			a := &n.Addresses[i]
			if !strings.HasPrefix(a.Container, workload.String()+"/") {
				continue
			}
			a.Container = "" // nothing is left that names it
			if a.FreedAt.IsZero() {
				a.FreedAt = now
			}
		}
		return nil
	})
	return left, err
}

// SubnetOf is store.ErrNotFound when none is recorded.
func (s *Store) SubnetOf(ctx context.Context, app string) (store.Subnet, error) {
	n, err := s.network(ctx, app)
	if err != nil {
		return store.Subnet{}, err
	}
	if !n.Subnet.IsValid() {
		return store.Subnet{}, fmt.Errorf("subnet of network %s: %w", app, store.ErrNotFound)
	}
	return store.Subnet{AppID: app, Prefix: n.Subnet}, nil
}

// ListSubnets lists what is recorded of all networks, by their names.
func (s *Store) ListSubnets(ctx context.Context) ([]store.Subnet, error) {
	keys, err := s.state.List(ctx, s.key(networkDir)+"/")
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", err)
	}
	var out []store.Subnet
	for _, key := range keys {
		n, err := s.SubnetOf(ctx, key[strings.LastIndex(key, "/")+1:])
		switch {
		case err == nil:
			out = append(out, n)
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b store.Subnet) int { return cmp.Compare(a.AppID, b.AppID) })
	return out, nil
}

// SaveSubnet records a network's subnet. One that overlaps another network's is
// store.ErrConflict; another one for the same network forgets its addresses.
func (s *Store) SaveSubnet(ctx context.Context, n store.Subnet) error {
	release, err := s.locks.Lock(ctx, "subnets")
	if err != nil {
		return err
	}
	defer release()
	all, err := s.ListSubnets(ctx)
	if err != nil {
		return err
	}
	prefix := n.Prefix.Masked()
	for _, o := range all {
		if o.AppID != n.AppID && o.Prefix.Overlaps(prefix) {
			return fmt.Errorf("subnet %s of network %s is that of %s: %w", prefix, n.AppID, o.AppID, store.ErrConflict)
		}
	}
	return s.changeNetwork(ctx, n.AppID, func(d *Network) error {
		if d.Subnet != prefix {
			d.Subnet, d.Next, d.Addresses = prefix, firstOffset, nil
		}
		return nil
	})
}

// DropSubnet forgets a network's subnet and addresses.
func (s *Store) DropSubnet(ctx context.Context, app string) error {
	if _, err := s.network(ctx, app); errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return s.changeNetwork(ctx, app, func(n *Network) error {
		n.Subnet, n.Next, n.Addresses = netip.Prefix{}, firstOffset, nil
		return nil
	})
}
