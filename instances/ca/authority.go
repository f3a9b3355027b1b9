package ca

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
	libsecrets "github.com/berth-cloud/berth/secrets"
)

// The failures a caller can tell apart with errors.Is; those of the store and of
// the secrets are returned as they are.
var (
	// ErrInconsistent: certificates and keys do not belong together, or cannot be
	// read. Nothing is made in their place: a person restores what is missing.
	ErrInconsistent = errors.New("the cluster's authority is inconsistent")
	// ErrContended: others changed the authority at every attempt.
	ErrContended = errors.New("the cluster's authority is being changed by others")
	// ErrInvalid: what is to be certified breaks a rule.
	ErrInvalid = errors.New("not to be certified")
	// ErrUntrusted: a certificate is not one of this cluster, now, for that use.
	ErrUntrusted = errors.New("certificate is not of this cluster")
)

// Defaults and bounds.
const (
	DefaultTTL     = 87600 * time.Hour // of an authority
	DefaultLeafTTL = 24 * time.Hour
	DefaultSkew    = 5 * time.Minute

	attempts = 8
)

// Options are what an authority is made of.
type Options struct {
	Storage storage.Storage // of the cluster; required
	Secrets secrets.Store   // required
	// ClusterID is named in the certificates; required.
	ClusterID string
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// TTL is the life of an authority, LeafTTL the longest of what it signs.
	TTL, LeafTTL time.Duration
	// Skew is by how much clocks may differ: certificates hold that much earlier.
	Skew time.Duration
}

// Authority signs. It is safe for concurrent use.
type Authority struct {
	opts  Options
	state atomic.Pointer[state]
}

// state is what Refresh read last.
type state struct {
	bundle *bundle
	key    ed25519.PrivateKey // of the active member
	pool   *x509.CertPool
	pem    []byte
}

// Open reads the cluster's authority, and makes it when the store says that there is
// none. It can be repeated after any failure.
func Open(ctx context.Context, opts Options) (*Authority, error) {
	if opts.Storage == nil || opts.Secrets == nil || opts.ClusterID == "" {
		return nil, fmt.Errorf("open the cluster's authority: %w: storage, secrets and the cluster's id are needed", ErrInvalid)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.TTL = orDefault(opts.TTL, DefaultTTL)
	opts.LeafTTL = orDefault(opts.LeafTTL, DefaultLeafTTL)
	opts.Skew = orDefault(opts.Skew, DefaultSkew)
	a := &Authority{opts: opts}
	err := a.change(ctx, func(b *bundle) (bool, error) {
		if len(b.Members) > 0 {
			return false, nil
		}
		m, err := a.make(ctx, stageActive)
		if err != nil {
			return false, err
		}
		b.Members = []member{m}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return a, a.Refresh(ctx)
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// change writes what f makes of the bundle, by condition. f is called again when
// another writer was faster.
func (a *Authority) change(ctx context.Context, f func(*bundle) (bool, error)) error {
	for range attempts {
		b, tag, err := a.read(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			b = &bundle{}
		}
		changed, err := f(b)
		if err != nil || !changed {
			return err
		}
		if err := a.write(ctx, b, tag); !errors.Is(err, storage.ErrPrecondition) {
			return err
		}
	}
	return ErrContended
}

func keyName(id string) string { return "ca/" + id + ".key" }

// make makes an authority: first its key, which is nobody's until the certificate
// is in the bundle.
func (a *Authority) make(ctx context.Context, s stage) (member, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return member{}, fmt.Errorf("make a key for the cluster's authority: %w", err)
	}
	id := keyID(public)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return member{}, fmt.Errorf("write the key of the cluster's authority: %w", err)
	}
	sealed := libsecrets.NewSecret(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err := a.opts.Secrets.SetIfAbsent(ctx, keyName(id), sealed); err != nil {
		return member{}, fmt.Errorf("keep the key of the cluster's authority: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return member{}, err
	}
	now := a.opts.Now().UTC()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "Berth cluster " + a.opts.ClusterID},
		NotBefore:             now.Add(-a.opts.Skew),
		NotAfter:              now.Add(a.opts.TTL),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return member{}, fmt.Errorf("certify the cluster's authority: %w", err)
	}
	return member{
		ID: id, Stage: s, Since: now,
		Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})),
	}, nil
}

// Refresh reads again what another process may have changed.
func (a *Authority) Refresh(ctx context.Context) error {
	b, _, err := a.read(ctx)
	if err != nil {
		return err
	}
	if b == nil {
		return fmt.Errorf("%w: %s is gone", ErrInconsistent, BundleKey)
	}
	active := b.at(stageActive)
	key, err := a.key(ctx, active)
	if err != nil {
		return err
	}
	s := &state{bundle: b, key: key, pool: x509.NewCertPool()}
	for _, m := range b.Members {
		s.pool.AddCert(m.parsed)
		s.pem = append(s.pem, m.Certificate...)
	}
	a.state.Store(s)
	return nil
}

func (a *Authority) key(ctx context.Context, m *member) (ed25519.PrivateKey, error) {
	secret, err := a.opts.Secrets.Get(ctx, keyName(m.ID))
	if errors.Is(err, secrets.ErrNotFound) {
		return nil, fmt.Errorf("%w: its certificate is there, and the secret %s is not; restore it from a backup", ErrInconsistent, keyName(m.ID))
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of the cluster's authority: %w", err)
	}
	block, _ := pem.Decode(secret.Reveal())
	if block == nil {
		return nil, fmt.Errorf("%w: the secret %s is no key", ErrInconsistent, keyName(m.ID))
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: the secret %s is no key", ErrInconsistent, keyName(m.ID))
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok || keyID(key.Public()) != m.ID {
		return nil, fmt.Errorf("%w: the secret %s is another authority's key", ErrInconsistent, keyName(m.ID))
	}
	return key, nil
}

// keyID names a public key.
func keyID(public any) string {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])[:32]
}

// newSerial is 128 bits of chance.
func newSerial() (*big.Int, error) {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	raw[0] = raw[0]&0x7f | 0x40 // positive, and always of the same length
	return new(big.Int).SetBytes(raw), nil
}
