package secrets

import (
	"context"
	"fmt"
	"time"
)

// Blobs keeps the rows of [Sealed]: for each tenant a wrapped data key, and the
// sealed values by reference and version. It sees no value and no key. Methods
// are safe for concurrent use, take effect as a whole or not at all, and return
// once what they wrote is durable. Each refuses a tenant or reference that is no
// name (ErrInvalidRef). RunBlobs in secrets/vaulttest holds these rules.
type Blobs interface {
	// Tenants lists in order at most limit tenants, from 1 up, whose names are
	// above after and that have a data key or a value.
	Tenants(ctx context.Context, after string, limit int) ([]string, error)
	// DataKey returns the wrapped data key of a tenant, or ErrNotFound.
	DataKey(ctx context.Context, tenant string) ([]byte, error)
	// SetDataKey stores wrapped in the place of old, or with a nil old where there
	// is none. With anything else in its place it is ErrConflict.
	SetDataKey(ctx context.Context, tenant string, old, wrapped []byte) error

	// Value returns a version, 0 being the newest, or ErrNotFound.
	Value(ctx context.Context, ref Ref, v Version) (SealedValue, error)
	// NextVersion is what the next value of ref is numbered: one above its
	// newest, or without any one above all that DeleteValues removed for the
	// tenant.
	NextVersion(ctx context.Context, ref Ref) (Version, error)
	// AddValue stores a value under the next version; with another one it is
	// ErrConflict.
	AddValue(ctx context.Context, ref Ref, v SealedValue) error
	// ListValues describes the tenant's values, ordered by key.
	ListValues(ctx context.Context, tenant string) ([]Metadata, error)
	// DeleteValues removes every version. Without any it succeeds.
	DeleteValues(ctx context.Context, ref Ref) error
}

// SealedValue is one version of a secret as Blobs keeps it.
type SealedValue struct {
	Version   Version
	Sealed    []byte // up to MaxSealedBytes
	CreatedAt time.Time
}

const (
	// MaxSealedBytes bounds a sealed value.
	MaxSealedBytes = MaxValueBytes + sealOverhead
	// MaxWrappedBytes bounds a wrapped data key.
	MaxWrappedBytes = 16 << 10
)

// CheckWrapped refuses what no wrapped data key can be (ErrTooLarge); for
// implementations of Blobs.
func CheckWrapped(wrapped []byte) error {
	if len(wrapped) == 0 || len(wrapped) > MaxWrappedBytes {
		return fmt.Errorf("%w: a wrapped data key of %d bytes, from 1 to %d are kept", ErrTooLarge, len(wrapped), MaxWrappedBytes)
	}
	return nil
}

// CheckSealed refuses what is too long for a sealed value (ErrTooLarge); for
// implementations of Blobs.
func CheckSealed(sealed []byte) error {
	if len(sealed) > MaxSealedBytes {
		return fmt.Errorf("%w: a sealed value of %d bytes, at most %d are kept", ErrTooLarge, len(sealed), MaxSealedBytes)
	}
	return nil
}
