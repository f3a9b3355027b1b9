package instances

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"time"

	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/wire"
)

// RegisterRequest is what an agent says of itself. Whoever passes it on has made sure
// that the agent has the other half of the key.
type RegisterRequest struct {
	Token                    string
	PublicKey                ed25519.PublicKey
	PrivateIPv4, PrivateIPv6 string
	Hostname                 string
}

// RenewRequest is of an agent whose certificate was verified.
type RenewRequest struct {
	InstanceID, Tenant string
	PublicKey          ed25519.PublicKey // of the certificate
	Serial             string            // as wire.SerialText writes it
}

// Registration is what an agent gets.
type Registration struct {
	InstanceID     string
	Tenant         string
	CertificatePEM []byte
	CAPEM          []byte
	ExpiresAt      time.Time
}

// maxCertificates bounds those that an instance has at once.
const maxCertificates = 16

// Register trades a token for a certificate. The first key that comes with a token has
// it for good: with that key the answer is the same again, as long as the token lives,
// with any other one it is ErrTokenUsed, and the log says who has it.
//
// Errors beside those of Verify: ErrInstanceNotFound, ErrInstanceDeleted, ErrWrongKey,
// ErrNotLeader, ErrNoAuthority, ErrInvalidRequest. After any other error the same call
// is to be made again.
func (m *Manager) Register(ctx context.Context, req RegisterRequest) (*Registration, error) {
	if _, err := m.term(); err != nil {
		return nil, err
	}
	if m.opts.Authority == nil {
		return nil, ErrNoAuthority
	}
	key, err := publicKeyPEM(req.PublicKey)
	if err != nil {
		return nil, err
	}
	claims, err := JWTVerifier{Key: m.public, ClusterID: m.cluster, Shard: m.shard, Leeway: m.skew(), Now: m.opts.Clock}.Verify(req.Token, TokenKindAgent)
	if err != nil {
		return nil, err
	}
	r, err := m.registering(ctx, claims, TokenHash(req.Token), key)
	if err != nil {
		return nil, err
	}
	c, err := m.claimFor(ctx, r, key, req.PublicKey)
	if err != nil {
		return nil, err
	}
	err = m.UpdateRegistration(ctx, r.Tenant, r.InstanceID, key, c.Serial, c.ExpiresAt, nil, req.PrivateIPv4, req.PrivateIPv6, req.Hostname)
	if err != nil {
		return nil, err
	}
	return &Registration{
		InstanceID: r.InstanceID, Tenant: r.Tenant, CertificatePEM: []byte(c.Certificate),
		CAPEM: m.opts.Authority.CAPEM(), ExpiresAt: c.ExpiresAt,
	}, nil
}

// registering is the record of a token that counts.
func (m *Manager) registering(ctx context.Context, claims *RegistrationNonceClaims, tokenHash, key string) (*InstanceRecord, error) {
	r, _, err := m.read(ctx, claims.Tenant, claims.Sub)
	if errors.Is(err, ErrInvalidRequest) {
		return nil, fmt.Errorf("%w: it names no instance", ErrTokenInvalid)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case r.RegistrationJWT != tokenHash:
		return nil, fmt.Errorf("%w: the instance has another one", ErrTokenInvalid)
	case r.State.Leaving():
		return nil, ErrInstanceDeleted
	case r.PublicKeyPEM != "" && r.PublicKeyPEM != key:
		at := time.Time{}
		if r.RegisteredAt != nil {
			at = *r.RegisteredAt
		}
		return nil, m.used(ctx, r.InstanceID, r.PublicKeyPEM, key, at)
	}
	return r, nil
}

// used says, and logs, who holds a token.
func (m *Manager) used(ctx context.Context, instanceID, holder, asked string, at time.Time) error {
	err := &TokenUsedError{InstanceID: instanceID, Holder: fingerprint(holder), Asked: fingerprint(asked), ClaimedAt: at}
	m.opts.Logger.WarnContext(ctx, "a token that belongs to another key was refused: it was stolen, or a machine was copied or lost its key",
		"instance", instanceID, "holder", err.Holder, "held_since", at, "asked_by", err.Asked)
	return err
}

// claimFor is the claim of an instance's token by this key. A certificate that ends
// before its token is not handed out again, but made anew.
func (m *Manager) claimFor(ctx context.Context, r *InstanceRecord, key string, public ed25519.PublicKey) (*claim, error) {
	c, err := m.readClaim(ctx, r.RegistrationJWT)
	if err != nil {
		return nil, err
	}
	if c == nil {
		cert, err := m.issue(r, public)
		if err != nil {
			return nil, err
		}
		term, err := m.term()
		if err != nil {
			return nil, err
		}
		c, err = m.claimToken(ctx, r.RegistrationJWT, &claim{
			InstanceID: r.InstanceID, Tenant: r.Tenant, PublicKey: key,
			Certificate: string(cert.PEM), Serial: cert.Serial, ExpiresAt: cert.NotAfter,
			ClaimedAt: m.now(), Term: term,
		})
		if err != nil {
			return nil, err
		}
	}
	if c.PublicKey != key || c.InstanceID != r.InstanceID || c.Tenant != r.Tenant {
		return nil, m.used(ctx, r.InstanceID, c.PublicKey, key, c.ClaimedAt)
	}
	if m.denied.has(c.Serial) {
		return nil, ErrInstanceDeleted
	}
	if m.now().Before(c.ExpiresAt) {
		return c, nil
	}
	cert, err := m.issue(r, public)
	if err != nil {
		return nil, err
	}
	again := *c
	again.Certificate, again.Serial, again.ExpiresAt = string(cert.PEM), cert.Serial, cert.NotAfter
	return &again, nil
}

func (m *Manager) issue(r *InstanceRecord, public ed25519.PublicKey) (*ca.Certificate, error) {
	return m.opts.Authority.Issue(ca.Request{
		Role: wire.RoleAgent, Name: r.InstanceID, Tenant: r.Tenant, PublicKey: public,
		TTL: m.conf().Certificates.AgentTTL.Std(),
	})
}

// UpdateRegistration updates registration data for an instance by condition. providerID
// is the provider's instance ID, nil if it is not known. privateIPv4, privateIPv6 and
// hostname are authoritative values reported by the agent; what is empty changes
// nothing. The first registration and its key stay: another key is ErrWrongKey. An
// instance that is to go is ErrInstanceDeleted.
func (m *Manager) UpdateRegistration(ctx context.Context, tenant, instanceID, publicKeyPEM, certSerial string, expiresAt time.Time, providerID *string, privateIPv4, privateIPv6, hostname string) error {
	key, err := parsePublicKeyPEM(publicKeyPEM)
	if err != nil {
		return err
	}
	if err := checkFacts(privateIPv4, privateIPv6, hostname); err != nil {
		return err
	}
	_, err = m.update(ctx, tenant, instanceID, func(r *InstanceRecord) (bool, error) {
		if err := r.wants(key); err != nil {
			return false, err
		}
		before := *r
		if r.RegisteredAt == nil {
			now := m.now()
			r.RegisteredAt, r.PublicKeyPEM = &now, key
			if r.Joined != nil {
				r.Status = string(infra.StatusRunning)
			}
		}
		if providerID != nil && r.ProviderInstanceID == "" {
			r.ProviderInstanceID = *providerID
		}
		set(&r.PrivateIPv4, privateIPv4)
		set(&r.PrivateIPv6, privateIPv6)
		set(&r.Hostname, hostname)
		r.setState(StateRegistered)
		added, err := r.certify(certSerial, expiresAt, m.now())
		if err != nil {
			return false, err
		}
		return added || before.RegisteredAt == nil || before.ProviderInstanceID != r.ProviderInstanceID ||
			before.PrivateIPv4 != r.PrivateIPv4 || before.PrivateIPv6 != r.PrivateIPv6 || before.Hostname != r.Hostname, nil
	})
	if err != nil {
		return fmt.Errorf("registration of instance %s: %w", clip(instanceID), err)
	}
	return nil
}

// wants is nil when the instance is to stay and the key is its own or will be.
func (r *InstanceRecord) wants(key string) error {
	switch {
	case r.State.Leaving():
		return ErrInstanceDeleted
	case r.PublicKeyPEM != "" && r.PublicKeyPEM != key:
		return ErrWrongKey
	}
	return nil
}

// certify keeps a certificate in the record, before anybody has it.
func (r *InstanceRecord) certify(serial string, expiresAt, now time.Time) (bool, error) {
	if serial == "" || slices.ContainsFunc(r.Certificates, func(c IssuedCertificate) bool { return c.Serial == serial }) {
		return false, nil
	}
	r.Certificates = slices.DeleteFunc(r.Certificates, func(c IssuedCertificate) bool { return now.After(c.ExpiresAt) })
	if len(r.Certificates) >= maxCertificates {
		return false, ErrTooMany
	}
	expiresAt = expiresAt.UTC()
	r.Certificates = append(r.Certificates, IssuedCertificate{serial, expiresAt})
	if r.CertExpiresAt == nil || expiresAt.After(*r.CertExpiresAt) || r.CertSerial == "" {
		r.CertSerial, r.CertExpiresAt = serial, &expiresAt
	}
	return true, nil
}

// Renew gives an agent the next certificate, for the key that it is registered with.
// Errors: ErrDenied, ErrInstanceNotFound, ErrInstanceDeleted, ErrWrongKey, ErrTooMany,
// ErrNotLeader; after any other one the same call is to be made again.
func (m *Manager) Renew(ctx context.Context, req RenewRequest) (*Registration, error) {
	if _, err := m.term(); err != nil {
		return nil, err
	}
	if m.opts.Authority == nil {
		return nil, ErrNoAuthority
	}
	if m.Denied(req.Serial) {
		return nil, ErrDenied
	}
	key, err := publicKeyPEM(req.PublicKey)
	if err != nil {
		return nil, err
	}
	r, _, err := m.read(ctx, req.Tenant, req.InstanceID)
	if err != nil {
		return nil, err
	}
	if err := r.wants(key); err != nil {
		return nil, err
	}
	if r.PublicKeyPEM == "" {
		return nil, ErrWrongKey // nobody is registered, so nobody has a certificate
	}
	cert, err := m.issue(r, req.PublicKey)
	if err != nil {
		return nil, err
	}
	if err := m.UpdateRegistration(ctx, r.Tenant, r.InstanceID, key, cert.Serial, cert.NotAfter, nil, "", "", ""); err != nil {
		return nil, err
	}
	return &Registration{
		InstanceID: r.InstanceID, Tenant: r.Tenant, CertificatePEM: cert.PEM,
		CAPEM: m.opts.Authority.CAPEM(), ExpiresAt: cert.NotAfter,
	}, nil
}

var hostname = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,251}[a-zA-Z0-9])?$`)

// checkFacts refuses what an agent says of itself and cannot be.
func checkFacts(v4, v6, host string) error {
	if v4 != "" {
		if a, err := netip.ParseAddr(v4); err != nil || !a.Is4() {
			return fmt.Errorf("%w: private_ipv4 is not an IPv4 address", ErrInvalidRequest)
		}
	}
	if v6 != "" {
		if a, err := netip.ParseAddr(v6); err != nil || !a.Is6() || a.Zone() != "" {
			return fmt.Errorf("%w: private_ipv6 is not an IPv6 address", ErrInvalidRequest)
		}
	}
	if host != "" && !hostname.MatchString(host) {
		return fmt.Errorf("%w: hostname is not the name of a host", ErrInvalidRequest)
	}
	return nil
}
