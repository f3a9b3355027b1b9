package secrets

import (
	"bytes"
	"crypto/subtle"
	"fmt"
	"log/slog"
)

// Redacted is what stands wherever a secret is printed.
const Redacted = "[redacted]"

// MaxValueBytes bounds the value of a secret that a vault keeps.
const MaxValueBytes = 1 << 20

// Secret is a value that cannot be printed: String, every verb of fmt, JSON,
// text and slog give Redacted. It does not change, and copies share the value.
// The zero Secret is the empty value. Secrets are compared with Equal: == does
// not compile, and reflect.DeepEqual takes no two for equal.
type Secret struct {
	// The closure is a second lock. Where methods are not called, as by fmt for
	// an unexported field or a wrong verb, its address is all there is to print.
	reveal func() []byte
}

// NewSecret makes a secret of a copy of value, which may be any bytes.
func NewSecret(value []byte) Secret {
	return hold(bytes.Clone(value))
}

// NewSecretString makes a secret of a text.
func NewSecretString(value string) Secret {
	return hold([]byte(value))
}

func hold(value []byte) Secret {
	return Secret{func() []byte { return value }}
}

// Reveal returns a copy of the value.
func (s Secret) Reveal() []byte { return bytes.Clone(s.bytes()) }

// RevealString returns the value as a text.
func (s Secret) RevealString() string { return string(s.bytes()) }

// Len is the length of the value in bytes.
func (s Secret) Len() int { return len(s.bytes()) }

// IsZero reports whether the value is empty.
func (s Secret) IsZero() bool { return s.Len() == 0 }

// Equal reports whether both values are the same, in a time that tells nothing
// but their lengths.
func (s Secret) Equal(o Secret) bool {
	return subtle.ConstantTimeCompare(s.bytes(), o.bytes()) == 1
}

func (s Secret) bytes() []byte {
	if s.reveal == nil {
		return nil
	}
	return s.reveal()
}

// String returns Redacted.
func (s Secret) String() string { return Redacted }

// GoString returns Redacted.
func (s Secret) GoString() string { return Redacted }

// Format writes Redacted, whatever the verb and its flags.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(Redacted)) }

// MarshalJSON writes Redacted as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }

// MarshalText writes Redacted; encodings such as YAML and XML use it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue is Redacted.
func (s Secret) LogValue() slog.Value { return slog.StringValue(Redacted) }

// UnmarshalJSON is ErrRedacted: what MarshalJSON wrote is no value. Decode into
// a string or bytes and call NewSecret.
func (s *Secret) UnmarshalJSON([]byte) error { return refuseUnmarshal("JSON") }

// UnmarshalText is ErrRedacted.
func (s *Secret) UnmarshalText([]byte) error { return refuseUnmarshal("text") }

func refuseUnmarshal(from string) error {
	return fmt.Errorf("%w: a secret is not read from %s", ErrRedacted, from)
}
