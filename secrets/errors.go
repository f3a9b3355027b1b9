package secrets

import "errors"

// The failures a caller can tell apart. None of their texts holds a value.
var (
	// ErrNotFound: the vault has no such secret, or not that version of it.
	ErrNotFound = errors.New("secret not found")
	// ErrInvalidRef: a tenant or key that is no name.
	ErrInvalidRef = errors.New("invalid secret reference")
	// ErrTooLarge: a value above MaxValueBytes.
	ErrTooLarge = errors.New("secret too large")
	// ErrRedacted: a secret was to be read from an encoding.
	ErrRedacted = errors.New("secret is redacted")
)
