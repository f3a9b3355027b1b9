package provider

// PortSpec is a port that a service listens on. By itself it is reachable from the
// group and from the network of the instance; it is published on the host when Host, BindAddress or Public
// is set.
type PortSpec struct {
	// Container is the port inside, 1 to 65535. No two members of a group may
	// listen on one port of one transport.
	Container int `json:"container"`

	// Host is the port outside. When the port is published and Host is 0 the
	// orchestrator chooses one, which Status reports and which may change with
	// every new container.
	Host int `json:"host,omitempty"`

	// Protocol is "tcp" (also when empty), "udp", or for TCP ports what is spoken
	// there: "http", "https" or "grpc".
	Protocol string `json:"protocol"`

	// BindAddress is the IP address of the host to publish on.
	BindAddress string `json:"bind_address,omitempty"`

	// Public publishes on all addresses of the host. Without it, and without
	// BindAddress, a port is published on 127.0.0.1.
	Public bool `json:"public,omitempty"`

	// Domains are host names under which the platform routes HTTP here.
	Domains []string `json:"domains,omitempty"`

	// TLS ends TLS for Domains; nil is plain HTTP.
	TLS *TLSSpec `json:"tls,omitempty"`
}

// TLSSpec says where the certificate for a port's domains is from.
type TLSSpec struct {
	// Secret is the vault's key of a certificate. Empty means that the platform
	// obtains one.
	Secret string `json:"secret,omitempty"`

	// RedirectHTTP answers plain HTTP with a redirect.
	RedirectHTTP bool `json:"redirect_http,omitempty"`
}

// Protocols of a PortSpec.
const (
	ProtocolTCP   = "tcp"
	ProtocolUDP   = "udp"
	ProtocolHTTP  = "http"
	ProtocolHTTPS = "https"
	ProtocolGRPC  = "grpc"
)

// Transport is "udp" or "tcp".
func (p PortSpec) Transport() string {
	if p.Protocol == ProtocolUDP {
		return ProtocolUDP
	}
	return ProtocolTCP
}

// Published reports whether the host listens for the port.
func (p PortSpec) Published() bool { return p.Host != 0 || p.Public || p.BindAddress != "" }

// HostAddress is the address of the host on which a published port listens.
func (p PortSpec) HostAddress() string {
	switch {
	case p.BindAddress != "":
		return p.BindAddress
	case p.Public:
		return "0.0.0.0"
	default:
		return "127.0.0.1"
	}
}

// Endpoint is one way in to an instance.
type Endpoint struct {
	// ServiceName is the service that answers: the main one or a sidecar. Look
	// for the name, not for a place in the list, which is sorted by it.
	ServiceName string `json:"service_name,omitempty"`

	URL      string `json:"url"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`

	// Container is the port inside that it leads to: another one than Port where the
	// host listens for it. 0 is not known.
	Container int `json:"container,omitempty"`

	// Public reports that it is reachable from outside of the host or cluster.
	Public bool `json:"public"`

	// Replica is the replica that answers; nil when any of them may.
	Replica *int `json:"replica,omitempty"`
}
