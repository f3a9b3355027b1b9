package probe

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
)

// Dialer opens connections to containers: on this machine a *net.Dialer, on
// another one whatever reaches it. It must return when ctx ends.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

var _ Dialer = (*net.Dialer)(nil)

// Kind is how a probe asks.
type Kind string

// The kinds.
const (
	HTTP Kind = "http" // a GET request whose status decides
	GRPC Kind = "grpc" // a call of grpc.health.v1 whose answer decides, over HTTP/2, without TLS unless Scheme is https
	TCP  Kind = "tcp"  // a connection that is taken
)

// Spec is one probe. Path and Expected are those of HTTP probes, Service is that
// of gRPC probes; Scheme, Host and SkipVerify are for both.
type Spec struct {
	Kind     Kind
	Address  string        // host:port to dial
	Timeout  time.Duration // of the whole probe, redirects included; 0 is Limits.Timeout
	Scheme   string        // "http" or "https"; "" is http
	Path     string        // with the query if any; "" is "/"
	Host     string        // Host header, and server name for TLS; "" is the address
	Expected Ranges        // statuses that pass; empty is 200-299
	Service  string        // whose health is asked for; "" is the server as a whole
	// SkipVerify accepts any certificate. Inside one machine a service's own
	// certificate proves nothing more than its address does.
	SkipVerify bool
}

// url is the request's URL, in which the host is the Host header.
func (s Spec) url() (*url.URL, error) {
	if s.Scheme != "" && s.Scheme != "http" && s.Scheme != "https" {
		return nil, fmt.Errorf("the scheme %q is neither http nor https", s.Scheme)
	}
	u, err := url.Parse(s.scheme() + "://" + cmp.Or(s.Host, s.Address) + s.path())
	if err != nil {
		return nil, fmt.Errorf("the path or the host cannot be used: %w", err)
	}
	return u, nil
}

func (s Spec) scheme() string { return cmp.Or(s.Scheme, "http") }

func (s Spec) path() string {
	if strings.HasPrefix(s.Path, "/") {
		return s.Path
	}
	return "/" + s.Path
}

// target names what is asked, with the address that is dialled.
func (s Spec) target() string {
	switch {
	case s.Kind == TCP:
		return "tcp://" + s.Address
	case s.Kind == GRPC && s.scheme() == "https":
		return "grpcs://" + s.Address
	case s.Kind == GRPC:
		return "grpc://" + s.Address
	}
	return s.scheme() + "://" + s.Address + s.path()
}
