package application

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/secrets"
)

// Option sets an optional part of a Controller.
type Option func(*Controller)

// deps is what a pass works with besides the store and the engine. Every field
// has a working default.
type deps struct {
	instanceID    string
	networkPrefix string
	now           func() time.Time
	logger        *slog.Logger
	prober        Prober
	memory        *Memory
	puller        *Puller
	networks      *Networks
	ingress       func() IngressView
	hostPath      func(path string) (string, error)
	secrets       SecretReader
	registryAuth  func(ref string) *docker.RegistryAuth
	extraLabels   map[string]string
	kept          func(id string) docker.VolumeSpec
	timing        Timing
	addressRest   time.Duration
	recovering    bool               // a node of it is back since a moment
	imagesMove    bool               // the engine brings images to where they are missing
	planned       func(*World, Plan) // sees every plan; for tests
}

// Prober asks a container once whether it serves. The answer comes within the
// probe's timeout; detail tells a person what was found when ok is false.
type Prober interface {
	Probe(ctx context.Context, addr netip.AddrPort, declared *spec.Probe) (ok bool, detail string)
}

// SecretReader reads the vault for one service. Its values go into containers
// and nowhere else.
type SecretReader interface {
	// SecretVersion is the newest version of a value, 0 when there is none.
	SecretVersion(ctx context.Context, key string) (int64, error)
	// SecretValue reads one version of a value.
	SecretValue(ctx context.Context, key string, version int64) (secrets.Secret, error)
}

// noSecrets is the vault of a controller that was given none: it has no value.
type noSecrets struct{}

var errNoVault = errors.New("no vault is configured")

func (noSecrets) SecretVersion(context.Context, string) (int64, error) { return 0, nil }

func (noSecrets) SecretValue(context.Context, string, int64) (secrets.Secret, error) {
	return secrets.Secret{}, errNoVault
}

// DefaultAddressRest is how long a freed container address is not given out.
const DefaultAddressRest = 10 * time.Minute

func defaultDeps() deps {
	return deps{
		now:          time.Now,
		logger:       slog.New(slog.DiscardHandler),
		ingress:      func() IngressView { return IngressView{} },
		hostPath:     func(path string) (string, error) { return path, nil },
		secrets:      noSecrets{},
		registryAuth: func(string) *docker.RegistryAuth { return nil },
		kept:         func(string) docker.VolumeSpec { return docker.VolumeSpec{} },
		timing:       DefaultTiming(),
		addressRest:  DefaultAddressRest,
	}
}

// complete makes what options left out and what depends on others.
func (c *Controller) complete() {
	if c.memory == nil {
		c.memory = NewMemory(nil)
	}
	if c.prober == nil {
		c.prober = DialProber{}
	}
	if c.networks == nil {
		c.networks = &Networks{
			Store: c.store, Runtime: c.rt, Instance: c.instanceID, Prefix: c.networkPrefix, Pool: DefaultPool, Now: c.now,
		}
	}
	if c.puller == nil {
		c.puller = NewPuller(c.now, nil)
	}
}

// WithInstanceID names the Berth whose containers these are. Containers of
// another one are never stopped, removed or reused. With the default, an empty
// id, all that carry the service's label count as ours.
func WithInstanceID(id string) Option { return func(c *Controller) { c.instanceID = id } }

// WithNetworkPrefix sets the first part of network and volume names; the
// default is "berth".
func WithNetworkPrefix(prefix string) Option { return func(c *Controller) { c.networkPrefix = prefix } }

// WithStartupWatch sets how long a release without a declared probe must keep
// running before it takes traffic.
func WithStartupWatch(d time.Duration) Option {
	return func(c *Controller) { c.timing.StartupWatch = d }
}

// WithStopGrace sets the grace of containers whose service says nothing;
// d <= 0 keeps the default.
func WithStopGrace(d time.Duration) Option {
	return func(c *Controller) {
		if d > 0 {
			c.timing.StopGrace = d
		}
	}
}

// WithKeptVolumes says which volume of the engine the id of one stands for that is a
// tenant's, with its labels. An id that is "" stands for none.
func WithKeptVolumes(kept func(id string) docker.VolumeSpec) Option {
	return func(c *Controller) { c.kept = kept }
}

// WithRestartBackoff shares one delay of crash restarts among controllers.
func WithRestartBackoff(b *RestartBackoff) Option {
	return func(c *Controller) {
		if c.memory == nil {
			c.memory = NewMemory(b)
		}
	}
}

// WithMemory shares what passes remember: readiness, crashes, refused effects.
func WithMemory(m *Memory) Option { return func(c *Controller) { c.memory = m } }

// WithPuller shares the component that fetches images beside the passes.
func WithPuller(p *Puller) Option { return func(c *Controller) { c.puller = p } }

// WithNetworks shares the component that gives each app its network.
func WithNetworks(n *Networks) Option { return func(c *Controller) { c.networks = n } }

// WithIngressView sets where the data plane's last report comes from.
func WithIngressView(view func() IngressView) Option {
	return func(c *Controller) { c.ingress = view }
}

// WithHostPaths sets who looks at a path of the host before it is mounted: it
// answers with the path that its links lead to, which is what gets mounted, or
// an error that fails the change. The default mounts every path as it stands.
func WithHostPaths(resolve func(path string) (string, error)) Option {
	return func(c *Controller) { c.hostPath = resolve }
}

// WithSecrets sets where the values of secrets come from. Without it a service
// that requires one fails.
func WithSecrets(r SecretReader) Option { return func(c *Controller) { c.secrets = r } }

// WithRegistryAuth sets who knows the credentials for an image's registry; nil
// from it pulls without any.
func WithRegistryAuth(auth func(ref string) *docker.RegistryAuth) Option {
	return func(c *Controller) { c.registryAuth = auth }
}

// WithLabels adds labels to every container and volume; Berth's own win.
func WithLabels(labels map[string]string) Option {
	return func(c *Controller) { c.extraLabels = labels }
}

// WithNodeRecovering says that a node of the service is back since a moment: what does
// not stand there yet, a network or an address, is waited for and fails no attempt.
func WithNodeRecovering(recovering bool) Option {
	return func(c *Controller) { c.recovering = recovering }
}

// WithImagesMoved says that the engine, asked to pull an image by its id, brings it from
// another node.
func WithImagesMoved(moved bool) Option { return func(c *Controller) { c.imagesMove = moved } }

// WithProber sets how containers are probed; the default dials them.
func WithProber(p Prober) Option { return func(c *Controller) { c.prober = p } }

// WithClock sets the time source.
func WithClock(now func() time.Time) Option { return func(c *Controller) { c.now = now } }

// WithLogger sets where passes log; the default discards.
func WithLogger(l *slog.Logger) Option { return func(c *Controller) { c.logger = l } }

// ownerLabels are those that every container of the service carries.
func (c *Controller) ownerLabels() map[string]string { return c.labelsOf(c.service) }

func (c *Controller) labelsOf(service string) map[string]string {
	l := map[string]string{docker.LabelService: service}
	if c.instanceID != "" {
		l[docker.LabelInstance] = c.instanceID
	}
	return l
}
