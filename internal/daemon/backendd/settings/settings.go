package settings

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/egress"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/backend/hosting/resolvable"
	"github.com/berth-cloud/berth/backend/hosting/sku"
	"github.com/berth-cloud/berth/internal/spec/yamlfile"
	"github.com/berth-cloud/berth/secrets"
)

// ErrInvalid is what the error of a file with something wrong in it is.
var ErrInvalid = yamlfile.ErrInvalid

// Settings are what a file says, with the defaults where it says nothing.
type Settings struct {
	Name   string
	Listen string // an address of this machine with its port

	// Requests are one secret, or two while one takes the place of the other.
	Requests []secrets.Secret
	Callback secrets.Secret // the file's own, or the first of Requests

	Docker        string // the engine's address; "" is the provider's default
	NetworkPrefix string
	NetworkPool   netip.Prefix
	BindAddress   netip.Addr // where the ports of leases are published
	Host          string     // how clients name that address; "" is the address

	Ingress *Ingress // nil: leases are reached by their ports alone

	Isolation Isolation

	SKUs   *sku.Catalog
	Pool   pool.Config
	Images manifest.Policy
	Egress egress.Policy // of callbacks
	Timing hosting.Timing
	// Retention is what becomes of the volumes of leases that are given up.
	Retention hosting.Retention
	Workers   int // leases that are worked on at once

	// Behind a pointer that no encoder follows: it has the server's private key.
	tls *tls.Config
}

// Isolation is how leases are kept apart from each other and from the host.
type Isolation struct {
	Firewall bool
	// AllowPrivate are private prefixes that leases may reach.
	AllowPrivate []netip.Prefix
	// Resolvers may be asked for names, wherever they are.
	Resolvers []netip.Addr
	// DataPlanePorts are the TCP ports of the host that leases may reach.
	DataPlanePorts []uint16
}

// Ingress is how leases are reached by name.
type Ingress struct {
	WildcardDomain string
	Control        string // the data plane's socket, from the root
	Gate           resolvable.Config
}

// TLS is what the server is known by; nil is plain HTTP.
func (s *Settings) TLS() *tls.Config { return s.tls.Clone() }

// Defaults of a file that says nothing.
const (
	DefaultListen        = "127.0.0.1:9001"
	DefaultNetworkPrefix = "berth-backend"
	DefaultNetworkPool   = "10.214.0.0/16"
	DefaultBindAddress   = "127.0.0.1"
	DefaultWorkers       = 16
	DefaultGrace         = 2160 * time.Hour // 90 days
)

// Options is what a file is judged by beside itself.
type Options struct {
	File string // the name that messages give the file; "" is "backend.yaml"
	Dir  string // where names of files begin; "" is the working directory
}

// Load reads a file. What is wrong in it is an ErrInvalid that lists all of it, a line
// each.
func Load(path string) (*Settings, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the settings: %w; write this file (at least %s), or name another with --config", err, least)
	}
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	defer f.Close()
	source, err := io.ReadAll(io.LimitReader(f, yamlfile.MaxSourceBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the settings in %s: %w", path, err)
	}
	return Parse(source, Options{File: path, Dir: filepath.Dir(path)})
}

// Parse is Load for a file that was read already.
func Parse(source []byte, opts Options) (*Settings, error) {
	if opts.File == "" {
		opts.File = "backend.yaml"
	}
	d := &decoder{dir: opts.Dir, Decoder: yamlfile.New(opts.File, yamlfile.Words{
		One: "backend", Least: "write at least " + least, Missing: missing, Unknown: unknown,
	})}
	f := defaults()
	if root := d.Document(source); root != nil {
		if v, ok := d.Visit(root, ""); ok {
			yamlfile.Section(d, v, fields(), f)
			d.rules(f)
		}
	}
	if d.Errs.Count() > 0 {
		return nil, d.Errs.Sorted()
	}
	return &f.Settings, nil
}

func defaults() *draft {
	return &draft{Settings: Settings{
		Listen: DefaultListen, NetworkPrefix: DefaultNetworkPrefix, NetworkPool: netip.MustParsePrefix(DefaultNetworkPool),
		BindAddress: netip.MustParseAddr(DefaultBindAddress), Workers: DefaultWorkers,
		Retention: hosting.Retention{Grace: DefaultGrace},
		Isolation: Isolation{Firewall: true, DataPlanePorts: []uint16{80, 443}},
	}}
}
