package fleet

import (
	"context"
	"net"
	"net/netip"

	"github.com/berth-cloud/berth/internal/probe"
)

var _ probe.Dialer = (*Fleet)(nil)

// DialContext dials an address of a container through the node that it is on; everything
// else is dialled on this machine.
func (f *Fleet) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if at, err := netip.ParseAddrPort(address); err == nil && f.o.Members != nil {
		if id := f.whose(at.Addr()); id != "" {
			conn, err := f.o.Members.Dial(ctx, id, address)
			return conn, told(id, err)
		}
	}
	return f.o.Dialer.DialContext(ctx, network, address)
}

// whose is the node of the container that has an address. Of several that have had it,
// those that run count first, then the keeper of their name.
func (f *Fleet) whose(addr netip.Addr) string {
	r := f.roll()
	if len(r.ids) == 1 {
		return ""
	}
	var nodes []string
	var labels map[string]string
	runs := false
	f.mu.Lock()
	for _, id := range r.ids {
		s := f.nodes[id].at(addr)
		switch {
		case s == nil || !r.counts(id, s) || runs && !s.state.Running():
			continue
		case !runs && s.state.Running():
			nodes, runs = nil, true
		}
		nodes, labels = append(nodes, id), s.state.Labels
	}
	f.mu.Unlock()
	if len(nodes) == 0 {
		return ""
	}
	return f.keeper(nodes, labels)
}

// at is the container that was seen at an address, one that runs before others.
func (n *node) at(addr netip.Addr) *sighting {
	if n == nil {
		return nil
	}
	var found *sighting
	for _, s := range n.byAddress[addr] {
		if found == nil || s.state.Running() && !found.state.Running() {
			found = s
		}
	}
	return found
}
