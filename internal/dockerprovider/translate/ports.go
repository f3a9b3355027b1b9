package translate

import (
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/provider"
)

// firstPort is the port that a service without a health check is asked on; 0
// when it takes no connections.
func firstPort(ports []provider.PortSpec) int {
	for _, p := range ports {
		if p.Transport() == provider.ProtocolTCP {
			return p.Container
		}
	}
	return 0
}

func publish(ports []provider.PortSpec) []spec.PublishedPort {
	var out []spec.PublishedPort
	for _, p := range ports {
		if !p.Published() {
			continue
		}
		o := spec.PublishedPort{Port: p.Container, HostPort: p.Host, Public: p.Public, Address: p.BindAddress}
		if p.Transport() == provider.ProtocolUDP {
			o.Protocol = provider.ProtocolUDP
		}
		out = append(out, o)
	}
	return out
}
