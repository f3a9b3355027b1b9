package secrets

import (
	"fmt"
	"strings"
)

const (
	// MaxTenantBytes bounds the name of a tenant.
	MaxTenantBytes = 128
	// MaxKeyBytes bounds a key.
	MaxKeyBytes = 253
)

// Ref names a secret: a key of a tenant. Every method of a [Vault] checks it as
// NewRef does.
type Ref struct {
	Tenant string
	Key    string
}

// Version numbers the values of a secret. The first is 1 or above, a later one
// is above the one before it, and none comes again, also after a Delete. In a
// question 0 means the newest.
type Version int64

// NewRef checks tenant and key. Both are of ASCII letters, digits and any of
// "._-:@", the tenant up to MaxTenantBytes and the key up to MaxKeyBytes long.
// A key may be parts with "/" between them, none of which is empty, "." or "..",
// and neither may be a tenant. Anything else is ErrInvalidRef.
func NewRef(tenant, key string) (Ref, error) {
	r := Ref{Tenant: tenant, Key: key}
	return r, r.Check()
}

// Check is the check of NewRef, for a Ref that was made as a literal.
func (r Ref) Check() error {
	if err := CheckTenant(r.Tenant); err != nil {
		return err
	}
	if len(r.Key) > MaxKeyBytes {
		return fmt.Errorf("%w: the key is %d bytes long, at most %d are allowed", ErrInvalidRef, len(r.Key), MaxKeyBytes)
	}
	for part := range strings.SplitSeq(r.Key, "/") {
		if !isName(part) {
			return fmt.Errorf("%w: key %q", ErrInvalidRef, r.Key)
		}
	}
	return nil
}

// String is tenant and key; neither is secret.
func (r Ref) String() string { return r.Tenant + "/" + r.Key }

// CheckTenant is the check of NewRef for a tenant alone.
func CheckTenant(tenant string) error {
	if len(tenant) > MaxTenantBytes {
		return fmt.Errorf("%w: the tenant's name is %d bytes long, at most %d are allowed",
			ErrInvalidRef, len(tenant), MaxTenantBytes)
	}
	if !isName(tenant) {
		return fmt.Errorf("%w: tenant %q", ErrInvalidRef, tenant)
	}
	return nil
}

// CheckValue refuses a value that is too large for a vault.
func CheckValue(s Secret) error {
	if s.Len() > MaxValueBytes {
		return fmt.Errorf("%w: %d bytes, at most %d are kept", ErrTooLarge, s.Len(), MaxValueBytes)
	}
	return nil
}

func isName(s string) bool {
	if s == "" || s == "." || s == ".." {
		return false
	}
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return true
}

func isNameByte(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		return true
	}
	return strings.IndexByte("._-:@", b) >= 0
}
