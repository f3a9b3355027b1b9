package daemon

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/ca"
	isecrets "github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/internal/reconcile/ingress"
	"github.com/berth-cloud/berth/secrets"
)

// planeOptions are how the data plane of this server takes the agents of nodes.
type planeOptions struct {
	Server  string // the name of this server, as in its own certificate
	Address string // at which agents reach the data plane, host:port
	// Listen is the address that the data plane listens at; "" is Address, or its port
	// when that has a name.
	Listen    string
	Authority *ca.Authority
	Secrets   isecrets.Store
	Denials   denials
	Now       func() time.Time // nil is the machine's clock
}

// denials tell of certificates that hold no more; a shard's manager is one.
type denials interface {
	RefreshDenied(ctx context.Context) error
	DeniedSerials() []string // in order
}

var _ denials = (*instances.Manager)(nil)

// planeCredentials make and keep what the data plane takes agents with: a certificate of
// the role ingress, with a key of its own, issued anew when two thirds of its life are
// over. What was given out last is kept with the cluster's secrets, so that its version
// only grows. One goroutine at a time does its work.
type planeCredentials struct {
	o planeOptions

	mu    sync.Mutex
	last  *keptCluster // what is in the secrets; nil: not read yet
	heard bool         // of what was denied before this process began
}

var (
	_ ingress.Credentials = (*planeCredentials)(nil)
	_ ingress.Raiser      = (*planeCredentials)(nil)
)

// keptCluster is what was given out last, but for the serials, of which there may be
// more than a secret holds.
type keptCluster struct {
	Cluster json.RawMessage `json:"cluster"`
	Denied  string          `json:"denied"` // the SHA-256 of the serials

	cluster table.Cluster
}

func newPlaneCredentials(o planeOptions) *planeCredentials {
	if o.Listen == "" {
		o.Listen = o.Address
		if host, port, err := net.SplitHostPort(o.Address); err == nil && net.ParseIP(host) == nil {
			o.Listen = ":" + port
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &planeCredentials{o: o}
}

// denied are the serials that are denied. What others denied before this process began is
// read once: from then on whoever serves the shard keeps it.
func (p *planeCredentials) denied(ctx context.Context) ([]string, error) {
	if !p.heard {
		if err := p.o.Denials.RefreshDenied(ctx); err != nil {
			return nil, err
		}
		p.heard = true
	}
	return p.o.Denials.DeniedSerials(), nil
}

func (p *planeCredentials) secretName() string { return "ingress/" + p.o.Server }

// Cluster is what the data plane is to use now.
func (p *planeCredentials) Cluster(ctx context.Context) (table.Cluster, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.give(ctx, 0)
}

// Above is the same with a version above one that is in use.
func (p *planeCredentials) Above(ctx context.Context, version int64) (table.Cluster, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.give(ctx, version)
}

func (p *planeCredentials) give(ctx context.Context, above int64) (table.Cluster, error) {
	if p.last == nil {
		last, err := p.read(ctx)
		if err != nil {
			return table.Cluster{}, err
		}
		p.last = last
	}
	denied, err := p.denied(ctx)
	if err != nil {
		return table.Cluster{}, err
	}
	before := p.last.cluster
	now := before
	now.Protocol, now.Listen, now.Roots, now.Denied = table.Protocol, p.o.Listen, string(p.o.Authority.CAPEM()), denied
	if !p.holds(&now) {
		if err := p.issue(&now); err != nil {
			return table.Cluster{}, err
		}
	}
	before.Denied = denied // of these, the sum tells
	if sum := sumOf(denied); before.Version <= above || !now.Same(&before) || sum != p.last.Denied {
		now.Version = max(before.Version, above) + 1
		if err := p.keep(ctx, now, sum); err != nil {
			return table.Cluster{}, err
		}
	}
	return now, nil
}

// holds says that a certificate is good for its first two thirds, in the eyes of the
// authorities there are now, and for the address there is now.
func (p *planeCredentials) holds(c *table.Cluster) bool {
	block, _ := pem.Decode([]byte(c.Certificate))
	if block == nil {
		return false
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return false
	}
	who, err := p.o.Authority.Verify(leaf, x509.ExtKeyUsageServerAuth)
	if err != nil || who.Role != wire.RoleIngress {
		return false
	}
	host, err := p.host()
	if err != nil || leaf.VerifyHostname(host) != nil {
		return false
	}
	renew := leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) * 2 / 3)
	return p.o.Now().Before(renew)
}

func (p *planeCredentials) host() (string, error) {
	host, _, err := net.SplitHostPort(p.o.Address)
	if err != nil || host == "" {
		return "", fmt.Errorf("the data plane's address for agents %q is not host:port", p.o.Address)
	}
	return host, nil
}

func (p *planeCredentials) issue(c *table.Cluster) error {
	host, err := p.host()
	if err != nil {
		return err
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key for the data plane: %w", err)
	}
	signed, err := p.o.Authority.Issue(ca.Request{
		Role: wire.RoleIngress, Name: p.o.Server, Hosts: []string{host}, PublicKey: public,
	})
	if err != nil {
		return fmt.Errorf("certificate of the data plane: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("write the key of the data plane: %w", err)
	}
	c.Certificate = string(signed.PEM)
	c.Key = table.NewPrivateKey(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	return nil
}

// read is what was given out last. What is not readable is an error: another version
// might be below the one in use.
func (p *planeCredentials) read(ctx context.Context) (*keptCluster, error) {
	secret, err := p.o.Secrets.Get(ctx, p.secretName())
	if errors.Is(err, isecrets.ErrNotFound) {
		return &keptCluster{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the data plane's certificate: %w", err)
	}
	var k keptCluster
	if json.Unmarshal(secret.Reveal(), &k) != nil {
		return nil, fmt.Errorf("the secret %s is not readable; delete it, and another certificate is issued", p.secretName())
	}
	if k.cluster, err = table.DecodeCluster(k.Cluster); err != nil {
		return nil, fmt.Errorf("the secret %s: %w", p.secretName(), err)
	}
	return &k, nil
}

func (p *planeCredentials) keep(ctx context.Context, c table.Cluster, sum string) error {
	bare := c
	bare.Denied = nil
	body, err := table.EncodeCluster(bare)
	if err != nil {
		return err
	}
	data, err := json.Marshal(keptCluster{Cluster: body, Denied: sum})
	if err != nil {
		return err
	}
	if err := p.o.Secrets.Set(ctx, p.secretName(), secrets.NewSecret(data)); err != nil {
		return fmt.Errorf("keep the data plane's certificate: %w", err)
	}
	p.last = &keptCluster{Denied: sum, cluster: bare}
	return nil
}

func sumOf(serials []string) string {
	sum := sha256.Sum256([]byte(strings.Join(serials, "\n")))
	return hex.EncodeToString(sum[:])
}
