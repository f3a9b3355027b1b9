package dockerprovider

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"regexp"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// Options say for whom a driver works and with what. The zero value works alone:
// its records are gone with the process, and it has no secrets.
type Options struct {
	// Owner marks what the driver makes; it touches nothing of another owner.
	// Empty is DefaultOwner.
	Owner string
	// Prefix begins the names of networks and volumes. Empty is DefaultPrefix.
	Prefix string
	// State keeps the records; nil keeps them in memory.
	State provider.StateStore
	// Vault has the secrets, and gets the contents of config files; without one
	// both are refused.
	Vault secrets.Vault
	// AllowCapabilities may be added by workloads, beside the default ones.
	AllowCapabilities []string
	// PublicHost is the host in the URLs of public ports; empty is 127.0.0.1.
	PublicHost string
	Region     string
	Location   *provider.Location

	// Pool is where subnets are from; the zero value is the planner's.
	Pool netip.Prefix
	// Bridges begins the names of the networks' interfaces on the host, up to 9
	// characters; "" lets the engine name them.
	Bridges string
	// HostRoutes are what subnets keep clear of beside the engine's networks; nil
	// is nothing.
	HostRoutes func() ([]netip.Prefix, error)

	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Prober asks containers; nil dials them from here.
	Prober application.Prober
	// SpawnPull runs the fetch of an image; nil is a goroutine.
	SpawnPull func(func())
	Logger    *slog.Logger
}

// What the zero values of Options mean.
const (
	DefaultOwner  = "berth-library"
	DefaultPrefix = "berth-wl"
)

// ownerForm is what an owner may be: it is a part of keys and the value of a label.
var ownerForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]{0,62}[A-Za-z0-9])?$`)

func (o Options) withDefaults() (Options, error) {
	if o.Owner == "" {
		o.Owner = DefaultOwner
	}
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	for _, v := range []struct{ what, value string }{{"owner", o.Owner}, {"prefix", o.Prefix}} {
		if !ownerForm.MatchString(v.value) {
			return o, fmt.Errorf("%w: the %s %q is not 1 to 64 letters, digits, - and _", provider.ErrInvalid, v.what, v.value)
		}
	}
	if o.State == nil {
		o.State = provider.NewMemoryStore()
	}
	if o.PublicHost == "" {
		o.PublicHost = loopback
	}
	if !o.Pool.IsValid() {
		o.Pool = application.DefaultPool
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Prober == nil {
		o.Prober = application.DialProber{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

const loopback = "127.0.0.1"

var errNoEngine = errors.New("no engine was given")

func checkRuntime(rt docker.Runtime) error {
	if rt == nil {
		return fmt.Errorf("%w: %w", provider.ErrInvalid, errNoEngine)
	}
	return nil
}
