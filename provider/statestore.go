package provider

import "context"

// StateStore keeps what a provider must not forget: what is wanted of each
// instance, its releases and the journal of its rollout. It holds references to
// secrets and never their values. Implementations are safe for concurrent use,
// also by several processes where they share one storage; package statestoretest
// holds them to it.
type StateStore interface {
	// Get reads a record. There being none is ErrNotFound.
	Get(ctx context.Context, key string) (Record, error)

	// Put writes a record when its present version is prior, and returns the new
	// version. An empty prior creates. Any other version, or none where one was
	// expected, is ErrConflict. Once it returned the record survives a crash of
	// the machine; when it fails otherwise than with ErrConflict or ErrInvalid
	// either may be there, the old or the new, whole.
	Put(ctx context.Context, key string, value []byte, prior Version) (Version, error)

	// Delete removes a record when its present version is prior. Another version
	// is ErrConflict, and there being no record ErrNotFound.
	Delete(ctx context.Context, key string, prior Version) error

	// List returns the keys that begin with prefix, sorted. The prefix is empty,
	// for all of them, or a key followed by a slash. Records that come and go during the call
	// may be in it or not; all others are.
	List(ctx context.Context, prefix string) ([]string, error)
}

// Version is a state of one record. It is opaque, differs from that of every other
// value that the record had, and is empty for a record that is not there.
type Version string

// Record is a value and its version.
type Record struct {
	Value   []byte
	Version Version
}

// Bounds of a StateStore. What is beyond is ErrInvalid.
const (
	// MaxRecordSize is the size of a value in bytes.
	MaxRecordSize = 4 << 20

	// MaxKeyLength is the length of a key in bytes.
	MaxKeyLength = 512

	// MaxKeySegment is the length of a part between slashes in bytes.
	MaxKeySegment = 128
)
