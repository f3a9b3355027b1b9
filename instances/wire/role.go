package wire

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
)

// Role is what the holder of a certificate of the cluster is.
type Role string

// The roles.
const (
	RoleAgent    Role = "agent"
	RoleServer   Role = "server"
	RoleIngress  Role = "ingress"
	RoleOperator Role = "operator"
)

// roleOID marks the extension in which a certificate's role is, as a UTF8String.
var roleOID = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 65834, 1}

// ErrRole: a certificate has no role, more than one, one that is not known, or another
// than is needed.
var ErrRole = errors.New("the certificate's role does not fit")

// RoleExtension is for a certificate that is to be made.
func RoleExtension(r Role) (pkix.Extension, error) {
	if !r.known() {
		return pkix.Extension{}, fmt.Errorf("%w: %q is not one", ErrRole, r)
	}
	value, err := asn1.MarshalWithParams(string(r), "utf8")
	if err != nil {
		return pkix.Extension{}, fmt.Errorf("write the role of a certificate: %w", err)
	}
	return pkix.Extension{Id: roleOID, Value: value}, nil
}

// RoleOf reads the role of a certificate. Errors: ErrRole.
func RoleOf(c *x509.Certificate) (Role, error) {
	var found []byte
	for _, e := range c.Extensions {
		if !e.Id.Equal(roleOID) {
			continue
		}
		if found != nil {
			return "", fmt.Errorf("%w: it has two", ErrRole)
		}
		found = e.Value
	}
	if found == nil {
		return "", fmt.Errorf("%w: it has none", ErrRole)
	}
	// Compared with what is written, so that there is one spelling of each.
	for _, r := range roles {
		if e, err := RoleExtension(r); err == nil && bytes.Equal(e.Value, found) {
			return r, nil
		}
	}
	return "", fmt.Errorf("%w: it is not one of the cluster's", ErrRole)
}

var roles = []Role{RoleAgent, RoleServer, RoleIngress, RoleOperator}

func (r Role) known() bool { return slices.Contains(roles, r) }

// Identity is who a certificate names.
type Identity struct {
	Role       Role
	InstanceID string // the common name
	Tenant     string // the one organization; only agents and operators have one
	Serial     string // lower-case hexadecimal, as a deny-list holds it
}

// Identify reads a certificate that was verified. One of an agent without an instance or
// with any number of tenants but one is refused. Errors: ErrRole.
func Identify(c *x509.Certificate) (Identity, error) {
	role, err := RoleOf(c)
	if err != nil {
		return Identity{}, err
	}
	id := Identity{Role: role, InstanceID: c.Subject.CommonName, Serial: SerialText(c)}
	if len(c.Subject.Organization) == 1 {
		id.Tenant = c.Subject.Organization[0]
	}
	if role == RoleAgent && (id.InstanceID == "" || id.Tenant == "") {
		return Identity{}, fmt.Errorf("%w: that of an agent names one instance and one tenant", ErrRole)
	}
	return id, nil
}

// SerialText is a certificate's serial number as deny-lists and records have it.
func SerialText(c *x509.Certificate) string { return c.SerialNumber.Text(16) }
