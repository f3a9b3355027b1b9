package secrets

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/secrets"
)

// Secret is a value that cannot be printed by accident.
type Secret = secrets.Secret

// MaxValueBytes bounds a value: 1 MiB.
const MaxValueBytes = secrets.MaxValueBytes

// MaxNameBytes bounds a name.
const MaxNameBytes = secrets.MaxKeyBytes

// The failures a caller can tell apart with errors.Is. A failure of what is below
// is returned as it is, such as storage.ErrUnavailable.
var (
	// ErrNotFound: there is no secret of that name. It is the one of package
	// secrets.
	ErrNotFound = secrets.ErrNotFound
	// ErrTooLarge: a value above MaxValueBytes. It is the one of package secrets.
	ErrTooLarge = secrets.ErrTooLarge
	// ErrTampered: what is kept is not what was kept under that name. It is the
	// one of package secrets.
	ErrTampered = secrets.ErrTampered
	// ErrExists: there is a secret of that name already.
	ErrExists = errors.New("secret exists")
	// ErrInvalidName: a name that CheckName refuses.
	ErrInvalidName = errors.New("invalid secret name")
	// ErrWrongKey: the secret is there, sealed with a key that is not among those
	// that were given.
	ErrWrongKey = errors.New("secret is sealed with another key")
	// ErrInvalidKey: a key that cannot seal.
	ErrInvalidKey = errors.New("invalid sealing key")
)

// Store keeps secrets by name. Methods are safe for concurrent use; each checks
// the name first (ErrInvalidName) and ends with its context.
type Store interface {
	// Get returns a secret. One that is not there is ErrNotFound, and nothing else
	// is.
	Get(ctx context.Context, name string) (Secret, error)
	// Set keeps a value, whatever was there. One above MaxValueBytes is
	// ErrTooLarge.
	Set(ctx context.Context, name string, value Secret) error
	// SetIfAbsent keeps a value unless there is one, which is ErrExists: of any
	// number of callers one keeps its value, and the others Get that.
	SetIfAbsent(ctx context.Context, name string, value Secret) error
	// Delete removes a secret. One that is not there succeeds.
	Delete(ctx context.Context, name string) error
}

// CheckName refuses what is no name with ErrInvalidName: a name is an object key
// (storage.CheckKey) of up to MaxNameBytes.
func CheckName(name string) error {
	if len(name) > MaxNameBytes {
		return fmt.Errorf("%w: it is %d bytes long, at most %d are allowed", ErrInvalidName, len(name), MaxNameBytes)
	}
	if storage.CheckKey(name) != nil {
		return fmt.Errorf("%w: %q", ErrInvalidName, name)
	}
	return nil
}

// begin is what every operation starts with.
func begin(ctx context.Context, op, name string) error {
	if err := ctx.Err(); err != nil {
		return failed(op, name, err)
	}
	if err := CheckName(name); err != nil {
		return fmt.Errorf("%s secret: %w", op, err)
	}
	return nil
}

func beginSet(ctx context.Context, name string, value Secret) error {
	if err := begin(ctx, "set", name); err != nil {
		return err
	}
	if err := secrets.CheckValue(value); err != nil {
		return failed("set", name, err)
	}
	return nil
}

func failed(op, name string, err error) error {
	if len(name) > MaxNameBytes {
		name = name[:MaxNameBytes] + "…"
	}
	return fmt.Errorf("%s secret %s: %w", op, name, err)
}
