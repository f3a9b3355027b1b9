package instances

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
	libsecrets "github.com/berth-cloud/berth/secrets"
)

// Leadership says whether this process may write, and in which term. A new leader has
// a greater term than all before it. It is asked before every effect, so it has to be
// quick, and to say no before another process may lead.
type Leadership interface {
	Term() (term uint64, leading bool)
}

// IDs makes instance ids that increase; *id.Generator is one.
type IDs interface {
	New(kind string) id.ID
}

// Authority signs certificates; *ca.Authority is one.
type Authority interface {
	Issue(ca.Request) (*ca.Certificate, error)
	CAPEM() []byte
}

// ManagerOptions contains options for creating an instance manager.
type ManagerOptions struct {
	ConfigLoader *config.Loader // has read a configuration
	SecretsStore secrets.Store  // with NonceKeyName in it
	Storage      storage.Storage
	LocalDB      *localdb.DB
	Provider     infra.Provider
	ImageGetter  ImageGetter // Optional: nil is the ids and fallbacks of the configuration
	CACert       []byte      // PEM-encoded CA certificate; nil is the Authority's
	Logger       *slog.Logger

	// Authority signs the certificates of agents; without one nobody registers.
	Authority Authority
	// Term fences writes; nil is a shard with one server for ever.
	Term Leadership
	// Clock is nil for the system's, IDs for a generator of its own on that clock.
	Clock func() time.Time
	IDs   IDs
	// IngressAddr is where agents reach the data plane; templates see it.
	IngressAddr string
	// Connected says whether an instance's agent is connected right now: such a
	// machine is never taken for gone. Nil is that nobody knows.
	Connected func(instanceID string) bool
	// DenyChanged is called when more certificates are denied than before, so that what
	// stands by them is closed. It must be quick. Nil is that nothing stands.
	DenyChanged func()
	// UserdataAddress judges the address at which user data is about to be fetched;
	// nil lets public addresses through.
	UserdataAddress func(netip.Addr) error
	// Readers is how many records are read at once by RebuildCache and Collect,
	// DefaultReaders when 0.
	Readers int
}

// DefaultReaders is how many records are read at once.
const DefaultReaders = 256

// Manager handles instance lifecycle management. It is safe for concurrent use; one
// process of a shard has one, and effects on one instance come one after another.
type Manager struct {
	opts    ManagerOptions
	cluster string
	shard   string
	owner   infra.Owner
	objects storage.Storage // of the shard
	signer  *JWTSigner
	public  ed25519.PublicKey
	busy    locks
	denied  denyList
	misses  misses
	fetch   fetcher

	// cacheGate is held for reading by whoever writes a record and its row, and for
	// writing while the cache is filled anew, so that no row is lost in between.
	cacheGate sync.RWMutex
	// cacheLost is set when the cache's file was found to be of no use.
	cacheLost atomic.Bool
}

// NonceKeyName is the secret with the key that signs tokens: Ed25519, PKCS8, PEM.
const NonceKeyName = "registration-nonce.key"

// openTimeout bounds what NewManager reads.
const openTimeout = 30 * time.Second

// NewManager creates a new instance manager. It needs a configuration that was read
// and the key that EnsureNonceKey makes; what is missing is ErrInvalidRequest or the
// error of whatever could not be read.
func NewManager(opts ManagerOptions) (*Manager, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	current := opts.ConfigLoader.Current()
	if current == nil {
		return nil, fmt.Errorf("new instance manager: %w: refresh the configuration first", config.ErrNotLoaded)
	}
	opts.settle()
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	key, err := nonceKey(ctx, opts.SecretsStore)
	if err != nil {
		return nil, err
	}
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("%w: the key for tokens is not one of Ed25519", ErrInvalidRequest)
	}
	objects := storage.Scoped(opts.Storage, "shard/"+current.Shard.Name)
	m := &Manager{
		opts: opts, cluster: current.Cluster.ID, shard: current.Shard.Name,
		owner:   infra.Owner{ClusterID: current.Cluster.ID, Shard: current.Shard.Name},
		objects: objects, signer: NewJWTSigner(key), public: public,
		fetch: newFetcher(opts.UserdataAddress),
	}
	m.signer.now = opts.Clock
	return m, nil
}

func (o *ManagerOptions) check() error {
	for _, needed := range []struct {
		name string
		ok   bool
	}{
		{"ConfigLoader", o.ConfigLoader != nil}, {"SecretsStore", o.SecretsStore != nil},
		{"Storage", o.Storage != nil}, {"LocalDB", o.LocalDB != nil}, {"Provider", o.Provider != nil},
		{"CACert or Authority", len(o.CACert) > 0 || o.Authority != nil},
	} {
		if !needed.ok {
			return fmt.Errorf("new instance manager: %w: %s is missing", ErrInvalidRequest, needed.name)
		}
	}
	return nil
}

func (o *ManagerOptions) settle() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.IDs == nil {
		o.IDs = &id.Generator{Now: o.Clock}
	}
	if o.DenyChanged == nil {
		o.DenyChanged = func() {}
	}
	if o.Readers <= 0 {
		o.Readers = DefaultReaders
	}
}

func (m *Manager) now() time.Time { return m.opts.Clock().UTC() }

// conf is the configuration of now: there was one when the manager was made.
func (m *Manager) conf() *config.Config { return m.opts.ConfigLoader.Current() }

func (m *Manager) skew() time.Duration { return m.conf().Shard.Timings.ClockSkew.Std() }

func (m *Manager) caCert() []byte {
	if len(m.opts.CACert) > 0 {
		return m.opts.CACert
	}
	return m.opts.Authority.CAPEM()
}

// EnsureNonceKey makes the key that signs tokens, unless there is one. Of any number
// of callers one makes it.
func EnsureNonceKey(ctx context.Context, store secrets.Store) error {
	_, err := nonceKey(ctx, store)
	if !errors.Is(err, secrets.ErrNotFound) {
		return err
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make the key for tokens: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("make the key for tokens: %w", err)
	}
	value := libsecrets.NewSecret(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err := store.SetIfAbsent(ctx, NonceKeyName, value); err != nil && !errors.Is(err, secrets.ErrExists) {
		return fmt.Errorf("keep the key for tokens: %w", err)
	}
	return nil
}

func nonceKey(ctx context.Context, store secrets.Store) (ed25519.PrivateKey, error) {
	value, err := store.Get(ctx, NonceKeyName)
	if err != nil {
		return nil, fmt.Errorf("read the key for tokens: %w", err)
	}
	block, _ := pem.Decode(value.Reveal())
	if block == nil {
		return nil, fmt.Errorf("%w: the secret %s is no key in PEM", ErrInvalidRequest, NonceKeyName)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("%w: the secret %s is no Ed25519 key in PKCS8", ErrInvalidRequest, NonceKeyName)
	}
	return key, nil
}
