package ca

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

// Request is who is to be certified.
type Request struct {
	Role wire.Role
	// Name is the instance's id, or what a server calls itself; at most 64 bytes.
	Name string
	// Tenant is required for agents and operators, and for nobody else.
	Tenant string
	// Hosts are the names and addresses at which a server or an ingress is reached.
	Hosts []string
	// PublicKey is the holder's, who has shown that it has the other half.
	PublicKey ed25519.PublicKey
	// TTL is how long it holds, DefaultLeafTTL when 0, and never longer than the
	// LeafTTL of the authority or the authority itself.
	TTL time.Duration
}

// Certificate is what was signed. Nothing in it is secret.
type Certificate struct {
	PEM    []byte
	Serial string // as wire.SerialText writes it
	// NotBefore lies the skew of clocks back.
	NotBefore, NotAfter time.Time
}

// MaxName bounds a common name, in bytes (RFC 5280, ub-common-name).
const MaxName = 64

func (r Request) check() error {
	switch {
	case len(r.PublicKey) != ed25519.PublicKeySize:
		return fmt.Errorf("%w: the public key is not one of Ed25519", ErrInvalid)
	case r.Name == "" || len(r.Name) > MaxName:
		return fmt.Errorf("%w: the name has to have 1 to %d bytes", ErrInvalid, MaxName)
	case (r.Role == wire.RoleAgent || r.Role == wire.RoleOperator) != (r.Tenant != ""):
		return fmt.Errorf("%w: agents and operators have a tenant, and nobody else", ErrInvalid)
	case (r.Role == wire.RoleServer || r.Role == wire.RoleIngress) != (len(r.Hosts) > 0):
		return fmt.Errorf("%w: a server and an ingress have a host, and nobody else", ErrInvalid)
	case r.TTL < 0:
		return fmt.Errorf("%w: a life of %v", ErrInvalid, r.TTL)
	}
	return nil
}

// Issue signs a certificate. Errors: ErrInvalid, and ErrUntrusted when the authority
// itself has ended.
func (a *Authority) Issue(r Request) (*Certificate, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	role, err := wire.RoleExtension(r.Role)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	s := a.state.Load()
	signer := s.bundle.at(stageActive).parsed
	now := a.opts.Now().UTC().Truncate(time.Second)
	if !now.Before(signer.NotAfter) {
		return nil, fmt.Errorf("%w: the authority ended at %s", ErrUntrusted, signer.NotAfter.Format(time.RFC3339))
	}
	template := &x509.Certificate{
		SerialNumber:    serial,
		Subject:         pkix.Name{CommonName: r.Name},
		NotBefore:       now.Add(-a.opts.Skew),
		NotAfter:        earlier(now.Add(min(orDefault(r.TTL, DefaultLeafTTL), a.opts.LeafTTL)), signer.NotAfter),
		KeyUsage:        x509.KeyUsageDigitalSignature,
		ExtKeyUsage:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		ExtraExtensions: []pkix.Extension{role},

		BasicConstraintsValid: true,
	}
	if r.Tenant != "" {
		template.Subject.Organization = []string{r.Tenant}
	}
	for _, host := range r.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	if len(r.Hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, r.PublicKey, s.key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return &Certificate{
		PEM:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Serial:    serial.Text(16),
		NotBefore: template.NotBefore, NotAfter: template.NotAfter,
	}, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Verify says who the holder of a certificate is, if it is one of this cluster that
// holds now and may be used so. Errors: ErrUntrusted, wire.ErrRole.
func (a *Authority) Verify(leaf *x509.Certificate, usage x509.ExtKeyUsage) (wire.Identity, error) {
	return a.verify(leaf, usage, a.opts.Now())
}

func (a *Authority) verify(leaf *x509.Certificate, usage x509.ExtKeyUsage, at time.Time) (wire.Identity, error) {
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: a.Pool(), KeyUsages: []x509.ExtKeyUsage{usage}, CurrentTime: at,
		Intermediates: x509.NewCertPool(),
	})
	if err != nil {
		return wire.Identity{}, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	return wire.Identify(leaf)
}

// VerifyLapsed is Verify for a certificate that may have ended up to grace ago; lapsed says
// that it has. It tells who the holder was: whether that one still counts, the caller has
// to know from elsewhere.
func (a *Authority) VerifyLapsed(leaf *x509.Certificate, usage x509.ExtKeyUsage, grace time.Duration) (who wire.Identity, lapsed bool, err error) {
	now := a.opts.Now()
	if lapsed = now.After(leaf.NotAfter); lapsed && now.Sub(leaf.NotAfter) <= grace {
		now = leaf.NotAfter
	}
	who, err = a.verify(leaf, usage, now)
	return who, lapsed, err
}

// Pool is all authorities that count now.
func (a *Authority) Pool() *x509.CertPool { return a.state.Load().pool }

// CAPEM is the same as text: one certificate or, while they change, more.
func (a *Authority) CAPEM() []byte { return append([]byte(nil), a.state.Load().pem...) }
