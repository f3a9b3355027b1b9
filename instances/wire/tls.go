package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Peer is how the two ends of a TLS connection of the cluster know each other. Each
// function is asked at every handshake, so that a renewed certificate or another
// authority counts from the next connection on.
type Peer struct {
	Certificate func() (*tls.Certificate, error) // our own
	Roots       func() *x509.CertPool            // the cluster's authorities
	Role        Role                             // what the other end must be
	Now         func() time.Time                 // nil is the clock of the machine
}

// Server is for the side that is dialled. With protocols, one of them is spoken or none.
func (p Peer) Server(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             protocols,
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true,
		// A record at once has what there is: most of what goes through is bulk.
		DynamicRecordSizingDisabled: true,
		Time:                        p.Now,
		GetCertificate:              func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.Certificate() },
		VerifyConnection: func(s tls.ConnectionState) error {
			return p.verify(s, protocols, "", x509.ExtKeyUsageClientAuth)
		},
	}
}

// Client is for the side that dials a host: a name or an address, without its port.
func (p Peer) Client(host string, protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion:                  tls.VersionTLS13,
		NextProtos:                  protocols,
		ServerName:                  host,
		DynamicRecordSizingDisabled: true,
		Time:                        p.Now,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if p.Certificate == nil {
				return new(tls.Certificate), nil
			}
			return p.Certificate()
		},
		// The roots may have changed since this was made; verify asks for them.
		InsecureSkipVerify: true, //nolint:gosec // verify below does all that is skipped
		VerifyConnection: func(s tls.ConnectionState) error {
			return p.verify(s, protocols, host, x509.ExtKeyUsageServerAuth)
		},
	}
}

// ErrProtocol: the other end speaks another protocol.
var ErrProtocol = errors.New("the other end does not speak this protocol")

func (p Peer) verify(s tls.ConnectionState, protocols []string, host string, usage x509.ExtKeyUsage) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the other end has no certificate")
	}
	if len(protocols) > 0 && s.NegotiatedProtocol == "" {
		return ErrProtocol
	}
	opts := x509.VerifyOptions{
		Roots: p.Roots(), DNSName: host, KeyUsages: []x509.ExtKeyUsage{usage}, Intermediates: x509.NewCertPool(),
	}
	if opts.Roots == nil {
		// Verify would take the machine's own authorities for it.
		return errors.New("no authority of the cluster is known")
	}
	if p.Now != nil {
		opts.CurrentTime = p.Now()
	}
	for _, c := range s.PeerCertificates[1:] {
		opts.Intermediates.AddCert(c)
	}
	leaf := s.PeerCertificates[0]
	if _, err := leaf.Verify(opts); err != nil {
		return err
	}
	id, err := Identify(leaf)
	if err != nil {
		return err
	}
	if id.Role != p.Role {
		return fmt.Errorf("%w: it is that of %s, %s is needed", ErrRole, article(id.Role), article(p.Role))
	}
	return nil
}

func article(r Role) string {
	switch r {
	case RoleAgent, RoleOperator, RoleIngress:
		return "an " + string(r)
	}
	return "a " + string(r)
}
