package nodes

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/internal/ingress/table"
)

// credentials are who the data plane is to agents, and whom it believes.
type credentials struct {
	cert   *tls.Certificate
	roots  *x509.CertPool
	denied map[string]bool
}

// parse refuses, with table.ErrInvalid, what no agent would take: another role, a key of
// another certificate, an authority that did not sign it. It says nothing about its end:
// clocks differ, and an agent looks for itself.
func parse(c *table.Cluster, role wire.Role, now time.Time) (*credentials, error) {
	fail := func(err error) (*credentials, error) {
		return nil, fmt.Errorf("%w: the certificate for agents: %w", table.ErrInvalid, err)
	}
	cert, err := tls.X509KeyPair([]byte(c.Certificate), []byte(c.Key.Reveal()))
	if err != nil {
		return fail(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(c.Roots)) {
		return fail(errors.New("no authority could be read"))
	}
	at := now
	if at.After(cert.Leaf.NotAfter) {
		at = cert.Leaf.NotAfter
	}
	if at.Before(cert.Leaf.NotBefore) {
		at = cert.Leaf.NotBefore
	}
	above := x509.NewCertPool()
	for _, der := range cert.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			above.AddCert(c)
		}
	}
	if _, err := cert.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: above, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
		return fail(err)
	}
	id, err := wire.Identify(cert.Leaf)
	if err != nil {
		return fail(err)
	}
	if id.Role != role {
		return fail(fmt.Errorf("%w: it is of the role %s, %s is needed", wire.ErrRole, id.Role, role))
	}
	out := &credentials{cert: &cert, roots: roots, denied: make(map[string]bool, len(c.Denied))}
	for _, s := range c.Denied {
		out.denied[s] = true
	}
	return out, nil
}

var errNoCredentials = errors.New("no credentials for agents were pushed")

// The hub asks these at every handshake, so that what was pushed last counts.

func (n *Nodes) certificate() (*tls.Certificate, error) {
	if c := n.creds.Load(); c != nil {
		return c.cert, nil
	}
	return nil, errNoCredentials
}

func (n *Nodes) roots() *x509.CertPool {
	if c := n.creds.Load(); c != nil {
		return c.roots
	}
	return nil
}

// Denied implements hub.DenyList.
func (n *Nodes) Denied(serial string) bool {
	c := n.creds.Load()
	return c == nil || c.denied[serial]
}
