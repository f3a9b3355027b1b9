package dockertest

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/berth-cloud/berth/internal/docker"
)

// firstEphemeral is where the engine looks for a host port when none is named.
const firstEphemeral = 32768

// portTable is who holds which port of the host.
type portTable struct {
	held map[portKey][]portHolder
	next int
}

type portKey struct {
	protocol string
	port     int
}

type portHolder struct {
	ip            netip.Addr
	owner         *container // nil: a process that is no container
	containerPort int
}

func newPortTable() portTable {
	return portTable{held: map[portKey][]portHolder{}, next: firstEphemeral}
}

// claim takes all published ports of a container, or none.
func (t *portTable) claim(c *container) ([]docker.PortBinding, error) {
	var got []docker.PortBinding
	for _, b := range c.spec.Ports {
		ip, err := hostIP(b.HostIP)
		if err != nil {
			t.release(c)
			return nil, err
		}
		if b.Protocol == "" {
			b.Protocol = "tcp"
		}
		if b.HostPort == 0 {
			b.HostPort = t.ephemeral(b.Protocol, ip)
		}
		k := portKey{b.Protocol, b.HostPort}
		if t.taken(k, ip) {
			t.release(c)
			return nil, fmt.Errorf("%v:%d/%s: %w", ip, b.HostPort, b.Protocol, docker.ErrPortInUse)
		}
		t.held[k] = append(t.held[k], portHolder{ip, c, b.ContainerPort})
		got = append(got, b)
	}
	return got, nil
}

func (t *portTable) release(c *container) {
	if len(c.spec.Ports) == 0 {
		return
	}
	for k, hs := range t.held {
		hs = slices.DeleteFunc(hs, func(h portHolder) bool { return h.owner == c })
		if len(hs) == 0 {
			delete(t.held, k)
		} else {
			t.held[k] = hs
		}
	}
}

func (t *portTable) taken(k portKey, ip netip.Addr) bool {
	return slices.ContainsFunc(t.held[k], func(h portHolder) bool {
		return h.ip == ip || h.ip.IsUnspecified() || ip.IsUnspecified()
	})
}

func (t *portTable) ephemeral(protocol string, ip netip.Addr) int {
	for {
		port := t.next
		if t.next++; t.next > 60999 {
			t.next = firstEphemeral
		}
		if !t.taken(portKey{protocol, port}, ip) {
			return port
		}
	}
}

// holder is who answers on a host address.
func (t *portTable) holder(addr netip.AddrPort) (portHolder, bool) {
	for _, h := range t.held[portKey{"tcp", int(addr.Port())}] {
		if h.ip == addr.Addr() || h.ip.IsUnspecified() {
			return h, true
		}
	}
	return portHolder{}, false
}

func hostIP(s string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(s)
	if err != nil {
		return ip, fmt.Errorf("host address %q: %w", s, docker.ErrInvalid)
	}
	return ip, nil
}

// OccupyPort makes a process that is no container hold a TCP port of the host;
// the returned function lets it go.
func (e *Engine) OccupyPort(addr netip.AddrPort) (release func()) {
	e.clock.lock()
	defer e.clock.unlock()
	k := portKey{"tcp", int(addr.Port())}
	h := portHolder{ip: addr.Addr()}
	e.ports.held[k] = append(e.ports.held[k], h)
	return func() {
		e.clock.lock()
		defer e.clock.unlock()
		e.ports.held[k] = slices.DeleteFunc(e.ports.held[k], func(o portHolder) bool { return o == h })
	}
}
