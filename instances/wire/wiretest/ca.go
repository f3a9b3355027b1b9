// Package wiretest makes a cluster's certificates for the tests of packages that speak
// instances/wire. It is imported by tests alone.
package wiretest

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

// CA is an authority of a test's cluster.
type CA struct {
	cert *x509.Certificate
	key  ed25519.PrivateKey
}

// NewCA makes one.
func NewCA(t testing.TB) *CA {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: "Berth test CA"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(1000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, pub, key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	return &CA{cert: cert, key: key}
}

// Pool is the authority as roots.
func (c *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.cert)
	return pool
}

// Roots is Pool as wire.Peer asks for it.
func (c *CA) Roots() func() *x509.CertPool {
	pool := c.Pool()
	return func() *x509.CertPool { return pool }
}

// PEM is the authority's certificate.
func (c *CA) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw})
}

// Leaf says what certificate is to be made.
type Leaf struct {
	Role    wire.Role // "" is none
	Name    string
	Tenants []string
	// Key is made when it is nil; with Public the certificate is for a key that is held
	// elsewhere.
	Key    ed25519.PrivateKey
	Public ed25519.PublicKey
	// Life is an hour when it is 0; a negative one is over already.
	Life time.Duration
	// Age is how long ago it began, on top of a minute.
	Age time.Duration
	// Extra are extensions besides the role's.
	Extra []pkix.Extension
	// Addresses are a server's besides those of loopback.
	Addresses []net.IP
}

// Issue makes a certificate, good for 127.0.0.1, ::1 and localhost in the role of a
// server or of the data plane.
func (c *CA) Issue(t testing.TB, l Leaf) tls.Certificate {
	t.Helper()
	if l.Key == nil && l.Public == nil {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		must(t, err)
		l.Key = key
	}
	if l.Key != nil {
		l.Public, _ = l.Key.Public().(ed25519.PublicKey)
	}
	if l.Life == 0 {
		l.Life = time.Hour
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: l.Name, Organization: l.Tenants},
		NotBefore: now.Add(-time.Minute - l.Age), NotAfter: now.Add(l.Life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		ExtraExtensions: l.Extra,
	}
	if l.Role != "" {
		role, err := wire.RoleExtension(l.Role)
		must(t, err)
		template.ExtraExtensions = append(template.ExtraExtensions, role)
	}
	if l.Role == wire.RoleServer || l.Role == wire.RoleIngress {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.IPAddresses = append([]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, l.Addresses...)
		template.DNSNames = []string{"localhost"}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, l.Public, c.key)
	must(t, err)
	leaf, err := x509.ParseCertificate(der)
	must(t, err)
	out := tls.Certificate{Certificate: [][]byte{der}, Leaf: leaf}
	if l.Key != nil {
		out.PrivateKey = l.Key
	}
	return out
}

// Agent is the certificate of a machine's agent, of the tenant "acme".
func (c *CA) Agent(t testing.TB, instance string) tls.Certificate {
	t.Helper()
	return c.Issue(t, Leaf{Role: wire.RoleAgent, Name: instance, Tenants: []string{"acme"}})
}

// Server is a certificate of the control plane, or with RoleIngress of the data plane.
func (c *CA) Server(t testing.TB, role wire.Role) tls.Certificate {
	t.Helper()
	return c.Issue(t, Leaf{Role: role, Name: "berth"})
}

// Held is a certificate as wire.Peer asks for it.
func Held(cert tls.Certificate) func() (*tls.Certificate, error) {
	return func() (*tls.Certificate, error) { return &cert, nil }
}

func serial(t testing.TB) *big.Int {
	t.Helper()
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	must(t, err)
	return n
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
