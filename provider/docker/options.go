package docker

import (
	"context"
	"log/slog"
	"net"
	"net/netip"

	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// Options say which engine to drive, for whom and with what. The zero value
// drives the local engine, keeps its records in memory and has no secrets.
type Options struct {
	// Host is where the engine listens: "unix:///path" or "tcp://host:port"
	// without TLS. Empty is unix:///var/run/docker.sock.
	Host string

	// Dial opens a connection to the engine; nil dials Host. With it Host is only
	// the engine's name in errors.
	Dial func(ctx context.Context) (net.Conn, error)

	// Owner marks everything that the provider makes, and it touches nothing of
	// another owner: two programs on one engine have two. It is up to 64 letters,
	// digits, - and _. Empty is "berth-library".
	Owner string

	// Prefix begins the names of networks and volumes. Empty is "berth-wl".
	Prefix string

	// State keeps what must not be forgotten, such as provider.NewDirStore. With
	// nil it is forgotten with the process: a new one can look at workloads, stop,
	// start and remove them, and no longer change them.
	State provider.StateStore

	// Vault has the secrets of the tenants, and keeps the contents of config
	// files. Without one a request that has either is provider.ErrNotSupported.
	Vault secrets.Vault

	// AllowCapabilities are Linux capabilities, without the prefix, that workloads
	// may add. Empty allows none beyond the defaults.
	AllowCapabilities []string

	// PublicHost is the host in the URLs of ports that are published on all
	// addresses. Empty is 127.0.0.1.
	PublicHost string

	// Region and Location are for ProviderInfo.
	Region   string
	Location *provider.Location

	// Pool is cut into one /24 for every network. The zero value is
	// 10.210.0.0/16.
	Pool netip.Prefix

	// Bridges begins the names of the networks' interfaces on the engine's host, so
	// that a firewall can know them: up to 9 characters. Empty lets the engine name
	// them.
	Bridges string

	// HostRoutes are prefixes that the host already reaches some way, which
	// subnets keep clear of. Nil is none beside the engine's networks.
	HostRoutes func() ([]netip.Prefix, error)

	// Logger receives warnings; nil discards them.
	Logger *slog.Logger
}
