package secrets

import (
	"context"
	"time"
)

// Vault keeps secrets. Methods are safe for concurrent use. Each checks the
// reference first (ErrInvalidRef), and none sees a secret of another tenant.
// The suite in secrets/vaulttest holds every rule below.
type Vault interface {
	// Put stores the value and returns its version. A value that equals the
	// newest one, compared in constant time, is not stored again: the newest
	// version is returned. A value above MaxValueBytes is ErrTooLarge.
	Put(ctx context.Context, ref Ref, s Secret) (Version, error)
	// Get returns a version, 0 being the newest, and its number. A secret or a
	// version that is not there is ErrNotFound.
	Get(ctx context.Context, ref Ref, v Version) (Secret, Version, error)
	// List describes a tenant's secrets, ordered by key; without any it is empty.
	List(ctx context.Context, tenant string) ([]Metadata, error)
	// Delete removes every version. A secret that is not there succeeds.
	Delete(ctx context.Context, ref Ref) error
}

// Metadata describes a secret without its value.
type Metadata struct {
	Key string
	// Version is the newest.
	Version Version
	// CreatedAt is when the oldest version that is kept was stored, UpdatedAt
	// when the newest was. Both are UTC.
	CreatedAt time.Time
	UpdatedAt time.Time
}
