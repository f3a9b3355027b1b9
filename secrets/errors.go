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
	// ErrConflict: a row of Blobs changed since it was read.
	ErrConflict = errors.New("secret changed meanwhile")

	// ErrKeyFile: a key file that is unfit: open to others, another user's,
	// or not of the form that CreateKeyFile writes.
	ErrKeyFile = errors.New("unfit key file")
	// ErrKeyLost: there are sealed secrets and no key file.
	ErrKeyLost = errors.New("key file is missing")
	// ErrSealed: the secrets are sealed for another master key.
	ErrSealed = errors.New("secrets are sealed for another key")
	// ErrTampered: a row is not what was written there.
	ErrTampered = errors.New("sealed secret was tampered with or is damaged")
)
