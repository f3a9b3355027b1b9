package dockertest

import (
	"fmt"
	"net/netip"

	"github.com/berth-cloud/berth/internal/docker"
)

// attach gives a container its address and its host ports, both or none.
func (e *Engine) attach(c *container) error {
	n := e.findNetwork(c.spec.Network.Network)
	// An engine remembers the network by id once the container ran on it.
	if n == nil || (c.ranOn != "" && c.ranOn != n.ID) {
		return fmt.Errorf("start container %q: network %q: %w", c.spec.Name, c.networkName(), docker.ErrNotFound)
	}
	addr, err := n.claim(c.spec.Network.Address)
	if err != nil {
		return fmt.Errorf("start container %q: %w", c.spec.Name, err)
	}
	ports, err := e.ports.claim(c)
	if err != nil {
		return fmt.Errorf("start container %q: %w", c.spec.Name, err)
	}
	if addr.IsValid() {
		n.members[addr] = c
		e.byAddr[addr] = c
	}
	c.net, c.addr, c.ports, c.ranOn = n, addr, ports, n.ID
	return nil
}

// detach is the inverse of attach.
func (e *Engine) detach(c *container) {
	delete(c.net.members, c.addr)
	delete(e.byAddr, c.addr)
	e.ports.release(c)
	c.net, c.addr, c.ports = nil, netip.Addr{}, nil
}

// claim checks the wanted address, or finds one when none is wanted.
func (n *network) claim(want netip.Addr) (netip.Addr, error) {
	if len(n.Subnets) == 0 {
		return netip.Addr{}, nil // host, none
	}
	subnet := n.Subnets[0]
	if want.IsValid() {
		if !subnet.Contains(want) {
			return want, fmt.Errorf("address %v is not in %v of network %q: %w", want, subnet, n.Name, docker.ErrInvalid)
		}
		if n.members[want] != nil || want == n.Gateway {
			return want, fmt.Errorf("address %v on network %q: %w", want, n.Name, docker.ErrAddressInUse)
		}
		return want, nil
	}
	for a := n.Gateway.Next(); subnet.Contains(a.Next()); a = a.Next() { // the last one is the broadcast address
		if n.members[a] == nil {
			return a, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no free address on network %q: %w", n.Name, docker.ErrAddressInUse)
}
