package table

import (
	"crypto/subtle"
	"fmt"
	"log/slog"
)

// redacted stands wherever a private key is printed.
const redacted = "[redacted]"

// PrivateKey is a key in PEM that cannot be printed: fmt, JSON, text and slog give
// "[redacted]". Package secrets has such a type for everybody; this one spares the data
// plane what that links.
type PrivateKey struct {
	// A closure, so that where no method is called its address is all there is to print.
	reveal func() string
}

// NewPrivateKey makes one of its PEM.
func NewPrivateKey(pem string) PrivateKey { return PrivateKey{func() string { return pem }} }

// Reveal is the PEM.
func (k PrivateKey) Reveal() string {
	if k.reveal == nil {
		return ""
	}
	return k.reveal()
}

// Len is the length of the PEM in bytes.
func (k PrivateKey) Len() int { return len(k.Reveal()) }

// Equal compares in a time that tells nothing but lengths.
func (k PrivateKey) Equal(o PrivateKey) bool {
	return subtle.ConstantTimeCompare([]byte(k.Reveal()), []byte(o.Reveal())) == 1
}

// String is "[redacted]".
func (PrivateKey) String() string { return redacted }

// Format writes "[redacted]", whatever the verb.
func (PrivateKey) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalJSON writes "[redacted]".
func (PrivateKey) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// UnmarshalJSON refuses: what MarshalJSON wrote is no key.
func (*PrivateKey) UnmarshalJSON([]byte) error {
	return fmt.Errorf("%w: a private key is not read from JSON", ErrInvalid)
}

// MarshalText writes "[redacted]".
func (PrivateKey) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue is "[redacted]".
func (PrivateKey) LogValue() slog.Value { return slog.StringValue(redacted) }
