package dockerprovider

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/provider"
)

// endpoints are the ways in to every group that takes traffic: the addresses of
// its containers, and the ports of the host that lead to them.
func (v *viewed) endpoints() []provider.Endpoint {
	out := []provider.Endpoint{}
	for i := range v.world.Groups {
		g := &v.world.Groups[i]
		if !v.targets(g) || !takes(g) {
			continue
		}
		for _, s := range v.servicesOf(g) {
			m := memberOf(g, s.Name)
			if m == nil || !runs(m) {
				continue
			}
			for _, p := range s.Ports {
				out = append(out, v.d.ways(s.Name, p, g.Replica, m.Address, m.Ports)...)
			}
		}
	}
	sortEndpoints(out)
	return out
}

func sortEndpoints(list []provider.Endpoint) {
	slices.SortStableFunc(list, func(a, b provider.Endpoint) int {
		return cmp.Or(strings.Compare(a.ServiceName, b.ServiceName), cmp.Compare(a.Port, b.Port), cmp.Compare(*a.Replica, *b.Replica))
	})
}

// servicesOf are the services of the release that a group is of.
func (v *viewed) servicesOf(g *application.Group) []provider.ServiceSpec {
	for i := range g.Members {
		if rev := v.record.StandsFor(g.Members[i].ReleaseID); rev != nil {
			return rev.Services
		}
	}
	if rev := v.serving(); rev != nil {
		return rev.Services
	}
	return nil
}

// ways are the endpoints of one port of one container.
func (d *Driver) ways(service string, p provider.PortSpec, replica int, address netip.Addr, bound []docker.PortBinding) []provider.Endpoint {
	var out []provider.Endpoint
	add := func(host string, port int, public bool) {
		index := replica
		out = append(out, provider.Endpoint{
			ServiceName: service, URL: scheme(p) + "://" + net.JoinHostPort(host, strconv.Itoa(port)), Port: port,
			Protocol: scheme(p), Container: p.Container, Public: public, Replica: &index,
		})
	}
	if address.IsValid() {
		add(address.String(), p.Container, false)
	}
	seen := map[int]bool{}
	for _, b := range bound {
		if b.ContainerPort != p.Container || b.Protocol != p.Transport() || b.HostPort == 0 || seen[b.HostPort] {
			continue
		}
		seen[b.HostPort] = true // once for both families of addresses
		host, public := d.hostOf(b)
		add(host, b.HostPort, public)
	}
	return out
}

// hostOf is the host under which a bound port is reached, and whether it is
// from outside of this machine.
func (d *Driver) hostOf(b docker.PortBinding) (host string, public bool) {
	ip, err := netip.ParseAddr(b.HostIP)
	switch {
	case err != nil || ip.IsUnspecified():
		return d.opts.PublicHost, true
	default:
		return ip.String(), !ip.IsLoopback()
	}
}

// scheme is what is spoken on a port.
func scheme(p provider.PortSpec) string { return cmp.Or(p.Protocol, provider.ProtocolTCP) }
