package records

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/store"
)

// firstOffset is the offset in a subnet of the first address that is given: 0 is
// the network's, 1 the gateway's.
const firstOffset = 2

// takeAddress gives a container the address that it holds, else a fresh one,
// else the longest freed one: no data plane sends requests to an address that
// has been freed, so that resting only puts it behind the others.
func (s *Store) takeAddress(ctx context.Context, q store.AddressRequest) (netip.Addr, error) {
	if q.Container == "" {
		return netip.Addr{}, fmt.Errorf("an address in network %s is for a named container", q.AppID)
	}
	var ip netip.Addr
	err := s.changeNetwork(ctx, q.AppID, func(n *Network) error {
		var err error
		ip, err = n.take(q.Container)
		return err
	})
	if err != nil {
		return netip.Addr{}, fmt.Errorf("take an address for %s: %w", q.Container, err)
	}
	return ip, nil
}

func (n *Network) take(container string) (netip.Addr, error) {
	if !n.Subnet.IsValid() {
		return netip.Addr{}, fmt.Errorf("subnet: %w", store.ErrNotFound)
	}
	oldest := -1
	for i, a := range n.Addresses {
		switch {
		case a.FreedAt.IsZero() && a.Container == container:
			return a.IP, nil
		case a.FreedAt.IsZero():
		case oldest < 0 || a.FreedAt.Before(n.Addresses[oldest].FreedAt):
			oldest = i
		}
	}
	for ; n.Next <= lastOffset(n.Subnet); n.Next++ {
		ip := addressAt(n.Subnet, n.Next)
		if slices.ContainsFunc(n.Addresses, func(a Address) bool { return a.IP == ip }) {
			continue // taken over from a container that was there
		}
		n.Next++
		n.Addresses = append(n.Addresses, Address{IP: ip, Container: container})
		return ip, nil
	}
	if oldest < 0 {
		return netip.Addr{}, store.ErrSubnetFull
	}
	n.Addresses[oldest] = Address{IP: n.Addresses[oldest].IP, Container: container}
	return n.Addresses[oldest].IP, nil
}

// Adopt records that a container holds an address that this store did not give.
func (s *Store) Adopt(ctx context.Context, app, container string, ip netip.Addr) error {
	return s.changeNetwork(ctx, app, func(n *Network) error {
		i := slices.IndexFunc(n.Addresses, func(a Address) bool { return a.IP == ip })
		switch {
		case !n.Subnet.Contains(ip):
		case i < 0:
			n.Addresses = append(n.Addresses, Address{IP: ip, Container: container})
		case !n.Addresses[i].FreedAt.IsZero():
			n.Addresses[i] = Address{IP: ip, Container: container}
		}
		return nil
	})
}

// FreeAddress lets a container's address rest. Without one it succeeds.
func (s *Store) FreeAddress(ctx context.Context, app, container string, now time.Time) error {
	if _, err := s.network(ctx, app); errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if now.IsZero() {
		now = s.now()
	}
	return s.changeNetwork(ctx, app, func(n *Network) error {
		for i := range n.Addresses {
			if a := &n.Addresses[i]; a.Container == container && a.FreedAt.IsZero() {
				a.FreedAt = now
			}
		}
		return nil
	})
}

// ListAddresses lists the addresses that are held or rest, in their order.
func (s *Store) ListAddresses(ctx context.Context, app string) ([]store.Address, error) {
	n, err := s.network(ctx, app)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []store.Address
	for _, a := range n.Addresses {
		out = append(out, store.Address{AppID: app, IP: a.IP, Container: a.Container, FreedAt: a.FreedAt})
	}
	slices.SortFunc(out, func(a, b store.Address) int { return a.IP.Compare(b.IP) })
	return out, nil
}

// lastOffset is the offset of the last address that is given, the one before
// the broadcast address; of a huge subnet only the first 2^32 are used.
func lastOffset(p netip.Prefix) int64 {
	return int64(1)<<min(p.Addr().BitLen()-p.Bits(), 32) - 2
}

// addressAt is the address at an offset below 2^32 of a masked prefix.
func addressAt(p netip.Prefix, offset int64) netip.Addr {
	b := p.Addr().AsSlice()
	for i := len(b) - 1; offset > 0; i-- {
		offset += int64(b[i])
		b[i] = byte(offset)
		offset >>= 8
	}
	ip, _ := netip.AddrFromSlice(b)
	return ip
}
