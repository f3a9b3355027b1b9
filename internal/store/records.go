package store

import "context"

// RecordStore is the part of Store that keeps what providers must not forget:
// values under keys, each with a version. What may be in keys and values is said
// by who uses it; the store takes any.
type RecordStore interface {
	// GetRecord reads a value and its version, which is not 0. None is ErrNotFound.
	GetRecord(ctx context.Context, key string) (value []byte, version int64, err error)
	// PutRecord writes a value when the present version is prior, 0 for no
	// record, and returns the new version, which no record had before. Else it is
	// ErrConflict.
	PutRecord(ctx context.Context, key string, value []byte, prior int64) (int64, error)
	// DeleteRecord removes a value when its version is prior; another version is
	// ErrConflict and none ErrNotFound.
	DeleteRecord(ctx context.Context, key string, prior int64) error
	// ListRecords lists the keys that begin with prefix, in order.
	ListRecords(ctx context.Context, prefix string) ([]string, error)
}
